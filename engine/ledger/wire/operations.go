// Package wire is the protocol between the service of a ledger and its clients. One
// POST is one call of the port. It goes to /ledger/ and the operation's name, with a Call
// as JSON. The reply is an Answer.
//
// Both carry the types of package engine as they are, so that a new field of a row or a tag
// needs nothing here; only candidates are sent as Columns. The header HeaderProtocol of each
// request and each answer tells whether both sides know the same fields.
package wire

import (
	"time"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
	"github.com/maaslxd/maaslxd/engine/ledger/lease"
)

// PathPrefix is what the path of each operation begins with.
const PathPrefix = "/ledger/"

// The headers of a request. HeaderProtocol is in each answer, too: what answers without
// it is no ledger.
const (
	HeaderProtocol = "Maaslxd-Ledger"
	// HeaderTimeout is how many milliseconds the caller waits. The service gives up then.
	HeaderTimeout = "Maaslxd-Timeout"
	// HeaderCall is another text for each call, and the same one each time that the call
	// is sent. The service does what is asked once, and gives its answer each time.
	HeaderCall = "Idempotency-Key"
	// HeaderLeads is in the answers of a cluster's nodes: "true" where the node leads. Others
	// have to pass writes on, so a client asks that one by preference.
	HeaderLeads = "Maaslxd-Leads"
)

// Operation is a call of the port.
type Operation struct {
	Name   string
	Writes bool // something; such a call has a HeaderCall
}

// The operations, by their methods of engine.Ledger and lease.Table.
var (
	OpHello      = Operation{"hello", false} // who the client is, for the service
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

// Operations lists all of them.
var Operations = []Operation{
	OpHello, OpTag, OpServes, OpRow, OpRows, OpPending, OpMayWrite, OpPlace, OpMove, OpRenew, OpBind, OpLeaving, OpDrop,
	OpCloseHost, OpOpenHost, OpTakeKeys, OpTakeLease, OpDropLease, OpBeatLeases, OpLeases,
}

// Call is what a client asks for. The operation says which fields count.
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
	From        string                   `json:",omitempty"` // region whose rows are taken over
	Prefix      string                   `json:",omitempty"` // of keys
	Lease       *lease.Lease             `json:",omitempty"`
	Session     string                   `json:",omitempty"` // of leases
}

// Answer is what became of a call.
type Answer struct {
	Error  *Error        `json:",omitempty"`
	Tag    *engine.Tag   `json:",omitempty"`
	Serves bool          `json:",omitempty"` // the inventory of that tag
	Row    *engine.Row   `json:",omitempty"`
	Rows   []engine.Row  `json:",omitempty"`
	Fresh  bool          `json:",omitempty"` // the call made the row
	Lease  *lease.Lease  `json:",omitempty"`
	Leases []lease.Lease `json:",omitempty"`
	Client *Client       `json:",omitempty"`
}

// Client is who the service takes the client for.
type Client struct {
	Name    string
	Regions []string
	Prefix  string
	Expires time.Time // of its certificate
	Service string    // the version of the service's program
}

// CallLimits bound a Call: a reservation of several thousand candidates passes.
var CallLimits = bounded.Limits{Bytes: 4 << 20, Objects: 100_000, Values: 1_000_000}

// AnswerLimits bound an Answer: the rows of some hundred thousand VMs pass.
var AnswerLimits = bounded.Limits{Bytes: 256 << 20, Objects: 1_000_000, Values: 8_000_000}
