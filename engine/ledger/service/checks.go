package service

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/bounded"
	"github.com/maaslxd/maaslxd/engine/ledger/access"
	"github.com/maaslxd/maaslxd/engine/ledger/wire"
)

// maxNameBytes is the longest name of a region or key, in bytes.
const maxNameBytes = 1024

// checkCall refuses a call for which the client has no right, or which lacks a field.
func (r *request) checkCall() error {
	c := r.call
	if r.isComplete != nil && !r.isComplete(c) {
		return invalidCallError("the call lacks what it is about")
	}
	if r.isForAllRegions {
		return nil
	}
	if err := r.checkRegion(c.Region); err != nil {
		return err
	}
	switch {
	case r.Name == wire.OpCloseHost.Name && c.Close.Except != "":
		return r.checkKey(c.Close.Except)
	case r.writtenKey != nil:
		return r.checkKey(r.writtenKey(c))
	}
	return nil
}

// checkRegion refuses a region that the client may not use.
func (r *request) checkRegion(region string) error {
	if len(region) <= maxNameBytes && r.client.MayUse(region) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the ledger's client %s may not use the region %q", r.client.Name, safeText(region)),
		Hint:    r.regionHint(region),
		Err:     engine.ErrForbidden,
	}
}

// regionHint names the command that adds a client which may use the region. A name of a client
// has one certificate at a time, so the new client has another name.
//
// A client that has only an address meets this error at its first VM: MAAS gets its mark then,
// and the region's rows move from the address to the mark.
func (r *request) regionHint(region string) string {
	var why string
	if region != "" && !access.IsMAASAddress(region) && slices.ContainsFunc(r.client.Regions, access.IsMAASAddress) {
		why = fmt.Sprintf("The client has the address of this MAAS (%s). Now this MAAS has a mark, and the ledger calls it by the mark. ", strings.Join(r.client.Regions, ", "))
	}
	return why + fmt.Sprintf("Ask the operator of the ledger service for another client: capi-bridge ledger client add NAME --region %s --prefix %s.",
		safeText(region), strings.TrimSuffix(r.client.Prefix, "/"))
}

// checkKey refuses a key that the client may not write.
func (r *request) checkKey(key engine.Key) error {
	if len(key) <= maxNameBytes && r.client.MayWrite(key) {
		return nil
	}
	return &engine.Refusal{
		Message: fmt.Sprintf("the ledger's client %s may not write the row of %q: its keys begin with %q", r.client.Name, safeText(string(key)), r.client.Prefix),
		Hint:    "Set owner to what stands before the slash. Or ask the operator of the ledger service for another certificate.",
		Err:     engine.ErrForbidden,
	}
}

func safeText(text string) string { return bounded.TruncateText(bounded.OneLine(text), 200) }

// execute does the call.
func (r *request) execute(ctx context.Context) wire.Answer {
	var answer wire.Answer
	if err := r.run(ctx, r, r.service.Ledger.Region(r.call.Region), &answer); err != nil {
		return errorAnswer(err)
	}
	return answer
}
