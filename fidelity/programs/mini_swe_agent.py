"""mini-swe-agent: commands in a shell, by LiteLLM."""

from minisweagent.agents.default import DefaultAgent
from minisweagent.environments.local import LocalEnvironment
from minisweagent.models.litellm_model import LitellmModel

from minisweagent.config import get_config_from_spec

config = get_config_from_spec("default.yaml")
agent = DefaultAgent(
    LitellmModel(model_name="openai/gpt-5", cost_tracking="ignore_errors"), LocalEnvironment(), **config["agent"]
)
print(agent.run("Count the lines of tools.py and write them to count.txt."))
for message in agent.messages:
    print(message["role"], str(message["content"])[:2000])
