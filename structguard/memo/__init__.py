"""What endpoints are known to refuse, remembered across calls, processes and restarts."""

from structguard.memo.entry import Entry as Entry
from structguard.memo.keys import (
    Call as Call,
    endpoint_id as endpoint_id,
    provider_id as provider_id,
    routing_digest as routing_digest,
)
from structguard.memo.memo import Memo as Memo
from structguard.memo.opening import default_directory as default_directory, open_memo as open_memo
