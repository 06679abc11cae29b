package lxd

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/acctest/maassim/sim/rest"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim/world"
)

// typeLXD is the content type of all of LXD's answers.
const typeLXD = "application/json"

func newReply(status int, body api.ResponseRaw) rest.Reply {
	return rest.Reply{Status: status, Kind: typeLXD, Body: append(rest.Encode(body), '\n'), Header: http.Header{}}
}

// synced is an answer that is final.
func synced(metadata any) rest.Reply {
	return newReply(http.StatusOK, api.ResponseRaw{Type: api.SyncResponse, Status: api.Success.String(), StatusCode: int(api.Success), Metadata: metadata})
}

// tagged is synced with an ETag of what may be changed.
func tagged(metadata any, parts ...any) rest.Reply {
	rep := synced(metadata)
	rep.Header.Set("ETag", etagOf(parts...))
	return rep
}

// done is synced without anything to say.
func done() rest.Reply { return synced(struct{}{}) }

// madeAt is synced for a new object.
func madeAt(path string) rest.Reply {
	rep := done()
	rep.Status = http.StatusCreated
	rep.Header.Set("Location", path)
	return rep
}

// started is the answer to what an operation does.
func started(o *world.Operation) rest.Reply {
	rep := newReply(http.StatusAccepted, api.ResponseRaw{
		Type: api.AsyncResponse, Status: api.OperationCreated.String(), StatusCode: int(api.OperationCreated),
		Operation: operationPath(o), Metadata: o.Begun,
	})
	rep.Header.Set("Location", operationPath(o))
	return rep
}

// Refused is an error.
func Refused(status int, format string, args ...any) rest.Reply {
	return newReply(status, api.ResponseRaw{Type: api.ErrorResponse, Code: status, Error: fmt.Sprintf(format, args...)})
}

func forbidden() rest.Reply { return Refused(http.StatusForbidden, "not authorized") }

func missing(what string) rest.Reply { return Refused(http.StatusNotFound, "%s not found", what) }

func taken(what, name string) rest.Reply {
	return Refused(http.StatusConflict, "%s %q already exists", what, name)
}

// Bad is 400 with a sentence.
func Bad(format string, args ...any) rest.Reply {
	return Refused(http.StatusBadRequest, format, args...)
}

// Broken is 500 with a sentence.
func Broken(format string, args ...any) rest.Reply {
	return Refused(http.StatusInternalServerError, format, args...)
}

// refusal is what LXD says in an operation, in its own words.
type refusal string

// Error is the sentence.
func (e refusal) Error() string { return string(e) }

func refusalf(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

// etagOf is a hash of what may be changed, as LXD makes it.
func etagOf(parts ...any) string {
	h := sha256.New()
	for _, part := range parts {
		text, err := json.Marshal(part)
		if err != nil {
			panic("sim: an ETag of what is no JSON: " + err.Error())
		}
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// unchanged compares If-Match with what is there: nil, or 412.
func (c *Call) unchanged(parts ...any) *rest.Reply {
	want := c.Request.Header.Get("If-Match")
	have := etagOf(parts...)
	if want == "" || want == "*" || want == have {
		return nil
	}
	rep := Refused(http.StatusPreconditionFailed, "ETag doesn't match: %s vs %s", have, want)
	return &rep
}

// read decodes the body: nil, or 400.
func (c *Call) read(to any) *rest.Reply {
	if err := json.Unmarshal(c.Body, to); err != nil {
		rep := Bad("%v", err)
		return &rep
	}
	return nil
}
