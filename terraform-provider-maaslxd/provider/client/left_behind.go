package client

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/ledger"
)

// An apply may be killed before it writes a new object to the state. The next apply finds that
// object by its key and continues. A destroy does not look for it, so the plan of a destroy
// warns of it.

// NoteNamedInState records that a state names an object of the MAAS with this mark. So the
// apply of its maker has saved it.
func (b *Backend) NoteNamedInState(ctx context.Context, mark string, key engine.Key) {
	if key == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ledgerServiceTimeout)
	defer cancel()
	rows, err := b.ledger.openExistingOfMark(ctx, mark)
	if rows == nil || err != nil {
		return
	}
	owner := key.Owner()
	if slices.Contains(b.cutOffLookups.keys(ctx, mark, rows, owner+"/"), key) {
		_ = rows.ClearCutOff(ctx, key) // else the plan of a destroy would warn of it
	}
}

// cutOffKeysTTL is how long the list of interrupted keys is valid, so that a refresh of many
// objects asks once. Objects that this run makes meanwhile are not interrupted.
const cutOffKeysTTL = 30 * time.Second

// cutOffLookups are the lookups of interrupted keys, by MAAS and owner.
type cutOffLookups struct {
	mu      sync.Mutex
	lookups map[string]*cutOffLookup
}

// cutOffLookup is one lookup. Callers who come meanwhile wait for its answer.
type cutOffLookup struct {
	once  sync.Once
	asked time.Time
	keys  []engine.Key
}

// keys lists the interrupted keys of an owner. It is empty if the ledger cannot tell.
func (c *cutOffLookups) keys(ctx context.Context, mark string, rows ledger.RegionLedger, of string) []engine.Key {
	c.mu.Lock()
	name := mark + " " + of
	look := c.lookups[name]
	if look == nil || time.Since(look.asked) > cutOffKeysTTL {
		if c.lookups == nil {
			c.lookups = map[string]*cutOffLookup{}
		}
		look = &cutOffLookup{asked: time.Now()}
		c.lookups[name] = look
	}
	c.mu.Unlock()
	look.once.Do(func() { look.keys, _ = rows.ListCutOff(ctx, of) })
	return look.keys
}

// NoteStateRead records that the run reads the state. Terraform does that in the plan of an
// apply. In a destroy, only the plan before it does.
func (r *Run) NoteStateRead() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hasReadState = true
}

// HasReadState tells whether the run has read something of the state: it does not run with
// -refresh=false.
func (r *Run) HasReadState() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hasReadState
}

// onlyDestroys tells whether the plan is that of a destroy, by what the run has seen.
func (r *Run) onlyDestroys() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.hasReadState && len(r.plannedCreates) == 0
}

// WarnLeftBehind warns, once in the plan of a destroy, of the objects that it leaves.
func (c *Client) WarnLeftBehind(ctx context.Context, diags *diag.Diagnostics) {
	if !c.CanCheckPlan() || !c.Run.onlyDestroys() || !c.Run.ClaimWarning("left behind") {
		return
	}
	b, err := c.Backend()
	if err != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, PlanCheckTimeout)
	defer cancel()
	left := c.listLeftBehind(ctx, b)
	if len(left) == 0 {
		return
	}
	diags.AddWarning("This destroy leaves what an earlier apply began", fmt.Sprintf(
		"That apply was killed before it could write these objects to the state: %s.\n\nApply first, with them in the configuration: that takes them "+
			"over. Then destroy. Or delete them in MAAS.", strings.Join(left, ", ")))
}

// listCutOff lists the keys of an owner's interrupted applies, by what the ledger tells.
func (b *Backend) listCutOff(ctx context.Context, owner string) []engine.Key {
	rows, err := b.ledger.openExisting(ctx)
	if rows == nil || err != nil {
		return nil
	}
	keys, err := rows.ListCutOff(ctx, owner+"/")
	if err != nil {
		return nil
	}
	return keys
}

// ListBegunVMs lists those of the VMs, by name, that an interrupted apply of this owner began. Such a
// VM may have no mark yet.
func (c *Client) ListBegunVMs(ctx context.Context, b *Backend, names []string) []string {
	keys := b.listCutOff(ctx, c.Owner.name())
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !slices.Contains(keys, c.Owner.VMKey(name)) })
}

// listLeftBehind names the objects of this owner's interrupted applies that still exist.
func (c *Client) listLeftBehind(ctx context.Context, b *Backend) []string {
	var left []string
	for _, key := range b.listCutOff(ctx, c.Owner.name()) {
		name := strings.TrimPrefix(string(key), c.Owner.name()+"/")
		if metal, ok := strings.CutPrefix(name, MachineKeyName("")); ok {
			if m, err := b.Metal.Observe(ctx, engine.Ref{Key: key, Name: metal}); err == nil {
				left = append(left, fmt.Sprintf("machine %s (%s, %s)", metal, m.SystemID, m.StatusName))
			}
		} else if host, ok := strings.CutPrefix(name, HostKeyName("")); ok {
			if h, err := b.Hosts.Observe(ctx, engine.Ref{Key: key, Name: host}); err == nil {
				left = append(left, fmt.Sprintf("VM host %s (machine %s, %s)", host, h.Machine.SystemID, h.Machine.StatusName))
			}
		} else if vm, err := b.VMs.Observe(ctx, engine.Ref{Key: key, Name: name}); err == nil {
			left = append(left, fmt.Sprintf("VM %s (%s, %s)", name, vm.SystemID, vm.StatusName))
		}
	}
	return left
}
