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

// syncReply is a final answer.
func syncReply(metadata any) rest.Reply {
	return newReply(http.StatusOK, api.ResponseRaw{Type: api.SyncResponse, Status: api.Success.String(), StatusCode: int(api.Success), Metadata: metadata})
}

// taggedReply is syncReply with an ETag of the fields that can be changed.
func taggedReply(metadata any, parts ...any) rest.Reply {
	rep := syncReply(metadata)
	rep.Header.Set("ETag", etagOf(parts...))
	return rep
}

// doneReply is syncReply without content.
func doneReply() rest.Reply { return syncReply(struct{}{}) }

// createdReply is syncReply for a new object.
func createdReply(path string) rest.Reply {
	rep := doneReply()
	rep.Status = http.StatusCreated
	rep.Header.Set("Location", path)
	return rep
}

// operationReply is the answer that starts an operation.
func operationReply(o *world.Operation) rest.Reply {
	rep := newReply(http.StatusAccepted, api.ResponseRaw{
		Type: api.AsyncResponse, Status: api.OperationCreated.String(), StatusCode: int(api.OperationCreated),
		Operation: operationPath(o), Metadata: o.Begun,
	})
	rep.Header.Set("Location", operationPath(o))
	return rep
}

// ErrorReply is an error answer of LXD.
func ErrorReply(status int, format string, args ...any) rest.Reply {
	return newReply(status, api.ResponseRaw{Type: api.ErrorResponse, Code: status, Error: fmt.Sprintf(format, args...)})
}

func forbiddenReply() rest.Reply { return ErrorReply(http.StatusForbidden, "not authorized") }

func notFoundReply(what string) rest.Reply {
	return ErrorReply(http.StatusNotFound, "%s not found", what)
}

func conflictReply(what, name string) rest.Reply {
	return ErrorReply(http.StatusConflict, "%s %q already exists", what, name)
}

// BadRequestReply is 400 with a message.
func BadRequestReply(format string, args ...any) rest.Reply {
	return ErrorReply(http.StatusBadRequest, format, args...)
}

// InternalErrorReply is 500 with a message.
func InternalErrorReply(format string, args ...any) rest.Reply {
	return ErrorReply(http.StatusInternalServerError, format, args...)
}

// operationError is an error of an operation, in LXD's words.
type operationError string

// Error is the message.
func (e operationError) Error() string { return string(e) }

func operationErrorf(format string, args ...any) error {
	return operationError(fmt.Sprintf(format, args...))
}

// etagOf is LXD's hash of the fields that can be changed.
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

// checkETag compares If-Match with the current object. It returns nil or 412.
func (c *Call) checkETag(parts ...any) *rest.Reply {
	want := c.Request.Header.Get("If-Match")
	have := etagOf(parts...)
	if want == "" || want == "*" || want == have {
		return nil
	}
	rep := ErrorReply(http.StatusPreconditionFailed, "ETag doesn't match: %s vs %s", have, want)
	return &rep
}

// readBody decodes the body. It returns nil or 400.
func (c *Call) readBody(to any) *rest.Reply {
	if err := json.Unmarshal(c.Body, to); err != nil {
		rep := BadRequestReply("%v", err)
		return &rep
	}
	return nil
}
