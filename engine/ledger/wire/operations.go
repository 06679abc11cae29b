// Package wire is the protocol between a ledger service and its clients. One POST is one call of
// engine.Ledger. Its path is /ledger/ and the name of the operation, and its body is a Call as
// JSON. The reply is an Answer.
//
// Both contain the types of package engine unchanged. So a new field of a row or a tag needs no
// change here. Only candidates are sent in another form, as Columns. The header HeaderProtocol
// of each request and answer shows whether both sides know the same fields.
package wire

import (
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// PathPrefix is the first part of the path of each operation.
const PathPrefix = "/ledger/"

// The headers of a request. An answer has HeaderProtocol, too: a server without it is no ledger.
const (
	HeaderProtocol = "Maaslxd-Ledger"
	// HeaderTimeout is how many milliseconds the caller waits. After that time the service gives
	// up.
	HeaderTimeout = "Maaslxd-Timeout"
	// HeaderCall is the id of a call. It is the same each time that the call is sent. The
	// service does the call once, and gives the same answer each time.
	HeaderCall = "Idempotency-Key"
	// HeaderLeads is in the answers of a cluster: "true" if the node leads. The other nodes pass
	// writes on to it, so a client prefers the leader.
	HeaderLeads = "Maaslxd-Leads"
)

// Operation is an operation of the protocol.
type Operation struct {
	Name   string
	Writes bool // its calls change something, and have a HeaderCall
}

// The operations, which are methods of engine.Ledger and lease.Table.
var (
	OpHello      = Operation{"hello", false} // asks for whom the service takes the client
	OpTag        = Operation{"tag", false}
	OpServes     = Operation{"serves", false}
	OpRow        = Operation{"row", false}
	OpRows       = Operation{"rows", false}
	OpPending    = Operation{"pending", false}
	OpMayWrite   = Operation{"may-write", false}
	OpPlace      = Operation{"place", true}
	OpMove       = Operation{"move", true}
	OpRenew      = Operation{"renew", true}
	OpBind       = Operation{"bind", true}
	OpLeaving    = Operation{"leaving", true}
	OpDrop       = Operation{"drop", true}
	OpCloseHost  = Operation{"close-host", true}
	OpOpenHost   = Operation{"open-host", true}
	OpTakeKeys   = Operation{"take-keys", true}
	OpTakeLease  = Operation{"take-lease", true}
	OpDropLease  = Operation{"drop-lease", true}
	OpBeatLeases = Operation{"beat-leases", true}
	OpLeases     = Operation{"leases", false}
)

// Operations returns all operations.
var Operations = []Operation{
	OpHello, OpTag, OpServes, OpRow, OpRows, OpPending, OpMayWrite, OpPlace, OpMove, OpRenew, OpBind, OpLeaving, OpDrop,
	OpCloseHost, OpOpenHost, OpTakeKeys, OpTakeLease, OpDropLease, OpBeatLeases, OpLeases,
}

// Call holds the parameters of an operation. Each operation uses some of the fields.
type Call struct {
	Region      string                   `json:",omitempty"`
	Key         engine.Key               `json:",omitempty"`
	Inventory   *engine.Tag              `json:",omitempty"`
	Row         *engine.Row              `json:",omitempty"`
	Attempt     int                      `json:",omitempty"`
	Reservation *Reservation             `json:",omitempty"`
	Close       *engine.HostCloseRequest `json:",omitempty"`
	HostKey     string                   `json:",omitempty"`
	Holder      string                   `json:",omitempty"` // of a close, or a lease
	From        string                   `json:",omitempty"` // region from which rows move
	Prefix      string                   `json:",omitempty"` // of keys
	Lease       *lease.Lease             `json:",omitempty"`
	Session     string                   `json:",omitempty"` // of leases
}

// Answer holds the results of a call.
type Answer struct {
	Error  *Error        `json:",omitempty"`
	Tag    *engine.Tag   `json:",omitempty"`
	Serves bool          `json:",omitempty"` // the ledger accepts the inventory
	Row    *engine.Row   `json:",omitempty"`
	Rows   []engine.Row  `json:",omitempty"`
	Fresh  bool          `json:",omitempty"` // the call made the row
	Lease  *lease.Lease  `json:",omitempty"`
	Leases []lease.Lease `json:",omitempty"`
	Client *Client       `json:",omitempty"`
}

// Client describes the client as the service knows it.
type Client struct {
	Name    string
	Regions []string
	Prefix  string
	Expires time.Time // of its certificate
	Service string    // version of the service
}

// CallLimits limits the size of a Call. A reservation with several thousand candidates is
// smaller.
var CallLimits = bounded.Limits{Bytes: 4 << 20, Objects: 100_000, Values: 1_000_000}

// AnswerLimits limits the size of an Answer. The rows of some hundred thousand VMs are smaller.
var AnswerLimits = bounded.Limits{Bytes: 256 << 20, Objects: 1_000_000, Values: 8_000_000}
