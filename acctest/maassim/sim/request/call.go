package request

import (
	"cmp"
	"fmt"
	"math"
	"net/http"
	"net/url"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// Call is one request to the API in the form that handlers use.
type Call struct {
	World      *world.World
	User       *world.User // nil for an anonymous caller
	Method     string
	Pattern    string // "machines/{id}/"
	Vars       map[string]string
	Query      url.Values
	Form       url.Values // the body's fields, for handlers of POST and PUT
	FieldOrder []string   // names of an urlencoded body's fields, in the order of the request
	Op         string
	IsOpInBody bool // Op was a field of the body; Form has the other fields
	// BodyRefusal is MAAS's error about the body, which it sends once it knows the caller.
	// It is nil if the body can be read.
	BodyRefusal *rest.Reply
	LXD         bool // a call of an LXD, for faults to match
}

// Field is the last value of a form field, as Django reads it.
func (c *Call) Field(name string) string { return rest.LastValue(c.Form[name]) }

// HasField tells whether the form has the field, be it empty.
func (c *Call) HasField(name string) bool { return len(c.Form[name]) > 0 }

// UnknownEndpointReply is 404 for a path that is no resource.
func UnknownEndpointReply(path string) rest.Reply {
	rep := rest.ErrorReply(http.StatusNotFound, fmt.Sprintf("Unknown API endpoint: %s.", path))
	rep.Header.Del("Vary")
	return rep
}

// GoneText is MAAS's message after it removed VM hosts (maasserver/api/gone.py).
const GoneText = "VM host (KVM) support has been removed from MAAS."

// GoneReply is 410 for operations that were removed with VM hosts.
func GoneReply() rest.Reply { return rest.ErrorReply(http.StatusGone, GoneText) }

// MethodNotAllowedReply is 405 with the methods of the resource.
func MethodNotAllowedReply(res Resource) rest.Reply {
	rep := rest.Reply{Status: http.StatusMethodNotAllowed, Kind: rest.TypeHTML, Header: rest.APIHeader()}
	rep.Header.Set("Allow", res.allowHeader())
	return rep
}

// BadSignatureReply is 400 for an op that a resource does not have.
func BadSignatureReply(c *Call) rest.Reply {
	op := cmp.Or(c.Op, "None")
	return rest.BadTextReply(fmt.Sprintf("Unrecognised signature: method=%s op=%s", c.Method, op))
}

// FindByID finds the object with the path's id. Otherwise it returns an error reply.
func FindByID[V any](c *Call, all map[int]V, kind string) (V, *rest.Reply) {
	var none V
	id, wrong := rest.ReadID(c.Vars["id"])
	if wrong != nil {
		return none, wrong
	}
	found, exists := all[id]
	if !exists {
		rep := rest.NoObjectReply(kind)
		return none, &rep
	}
	return found, nil
}

// NumberField is the whole part of a number field, limited to what a database column can
// hold.
func (c *Call) NumberField(field string, missing int) int {
	n, isNumber := rest.ReadFloat(c.Field(field))
	if !isNumber {
		return missing
	}
	return int(max(math.MinInt32, min(n, math.MaxInt32)))
}
