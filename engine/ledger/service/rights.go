package service

import (
	"context"
	"fmt"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// maxName is how long the name of a region or a key may be, in bytes.
const maxName = 1024

// mayCall refuses what the client has no right to, and calls that lack something.
func (r *request) mayCall() error {
	c := r.call
	if r.complete != nil && !r.complete(c) {
		return invalid("the call lacks what it is about")
	}
	if r.everyone {
		return nil
	}
	if err := r.mayUse(c.Region); err != nil {
		return err
	}
	switch {
	case r.Name == wire.CloseHost.Name && c.Close.Except != "":
		return r.mayWrite(c.Close.Except)
	case r.key != nil:
		return r.mayWrite(r.key(c))
	}
	return nil
}

// mayUse refuses regions that the client may not use.
func (r *request) mayUse(region string) error {
	if len(region) <= maxName && r.client.MayUse(region) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the ledger's client %s may not use the region %q", r.client.Name, shown(region)),
		Hint:    fmt.Sprintf("Whoever runs the ledger service gives it a certificate for that region: ledger client add --region %s.", shown(region)),
		Err:     engine.ErrForbidden,
	}
}

// mayWrite refuses keys whose rows belong to others.
func (r *request) mayWrite(key engine.Key) error {
	if len(key) <= maxName && r.client.MayWrite(key) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the ledger's client %s may not write the row of %q: its keys begin with %q", r.client.Name, shown(string(key)), r.client.Prefix),
		Hint:    "Set owner to what stands before the slash. Or ask who runs the ledger service for another certificate.",
		Err:     engine.ErrForbidden,
	}
}

func shown(text string) string { return bounded.Cut(bounded.OneLine(text), 200) }

// do does what is asked.
func (r *request) do(ctx context.Context) wire.Answer {
	var answer wire.Answer
	if err := r.serve(ctx, r, r.service.Ledger.Region(r.call.Region), &answer); err != nil {
		return failed(err)
	}
	return answer
}
