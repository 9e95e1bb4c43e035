"""HTTP/1.1 over connections of our own: a reply (`reply`), its connection, the pool they come from."""

from structguard.http.h1.connection import Connection as Connection
from structguard.http.h1.pool import Origin as Origin, Pool as Pool
from structguard.http.h1.reply import Reply as Reply
