"""Inside of a replayed process: holds it still at any moment, and looks at it. `debugger` is what asks for that."""
