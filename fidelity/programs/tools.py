"""The two tools of every program here. Both are different each time, and one leaves something behind."""

import datetime
import random
import uuid


def weather(city):
    """A reading of an instrument, at a moment."""
    now = datetime.datetime.now()
    return f"{city}: {random.randint(-5, 25)} degrees at {now:%H:%M:%S.%f}"


def reserve(city, hour):
    """A booking, which is written down."""
    number = uuid.uuid4().hex[:8]
    with open("bookings.txt", "a", encoding="utf-8") as book:
        book.write(f"{number} {city} {hour}\n")
    return f"booked {city} at {hour}:00 under {number}"
