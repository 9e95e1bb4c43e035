"""The one algorithm (`algorithm`), its two drivers (`drive`) and how a call was served (`report`)."""

from structguard.flow.algorithm import (
    Call as Call,
    Forget as Forget,
    Lease as Lease,
    Remember as Remember,
    Send as Send,
    Sent as Sent,
    Served as Served,
    View as View,
    guarded_flow as guarded_flow,
)
from structguard.flow.drive import adrive as adrive, drive as drive
from structguard.flow.report import (
    Info as Info,
    attach as attach,
    info as info,
    info_of as info_of,
    publish as publish,
    watch as watch,
)
