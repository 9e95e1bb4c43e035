"""
Providers: one endpoint and one credential each, all with the same face (`service.Provider`).

Loaded lazily; no vendor's SDK is imported unless it carries the authentication (Bedrock, Vertex).
"""

from structguard.providers.anthropic import Anthropic as Anthropic
from structguard.providers.aws import AwsKeys as AwsKeys
from structguard.providers.bedrock import Bedrock as Bedrock
from structguard.providers.credentials import Credential as Credential
from structguard.providers.embeddings import Embeddings as Embeddings
from structguard.providers.google import Google as Google
from structguard.providers.openai import OpenAI as OpenAI
from structguard.providers.openai_compat import OpenAICompat as OpenAICompat
from structguard.providers.routes import ModelOptions as ModelOptions
