"""Every face against real servers: llama.cpp and a litellm proxy. Writes docs/proof.md."""
