"""
The gateway: one ASGI app that gives every client in any language what the library gives Python.

`app.create_app(config)` is the app, `config` its frozen settings; `structguard serve` runs it.
Source: spec gateway.
"""
