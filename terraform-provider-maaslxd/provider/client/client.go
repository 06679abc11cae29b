// Package client is the part that the resources and data sources of one provider block share.
// It has the engine for its MAAS, the ledger, the owner, the fleet's key pair and MAAS's mark.
// It also has the notes that the plans of one run exchange.
package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/diagnostics"
	"github.com/maaslxd/maaslxd/terraform-provider-maaslxd/provider/values"
)

// Client is shared by all resources of one provider block. Creating it makes no call.
type Client struct {
	// Run holds the notes that the plans of this run exchange.
	Run Run

	Owner             Owner
	onUnfinished      string   // one of the unfinished constants
	isConfigUnknown   bool     // a value of the provider block is not known yet
	missingAttributes []string // settings that are missing
	backend           *Backend // nil if unknown or missing
	claimedKeys       sync.Map // keys of the VMs that this run creates
}

// ErrUnknownConfig means that the provider block depends on an object that does not exist yet.
var ErrUnknownConfig error = &engine.Refusal{
	Message: "the provider's configuration is not known yet",
	Hint:    "First apply what the provider block depends on, for instance with -target.",
}

// ErrMissingConfig means that a setting is missing in the provider block and in the
// environment.
var ErrMissingConfig error = &engine.Refusal{
	Message: "the provider is not configured",
	Hint:    "Set what is missing in the provider block or in the environment.",
}

// New makes the client. A malformed value is a *api.ConfigError; several are joined. Unknown
// and missing values become an error only when MAAS is needed.
func New(s Settings, files *Ledgers) (*Client, error) {
	c := &Client{Owner: Owner{configuredName: s.Owner}, onUnfinished: s.OnUnfinished, isConfigUnknown: s.IsUnknown, missingAttributes: s.missingAttributes()}
	if c.isConfigUnknown || len(c.missingAttributes) > 0 {
		return c, nil
	}
	b, err := newBackend(s, files)
	c.backend = b
	if b != nil {
		c.Owner.ledger = b.ledger
	}
	return c, err
}

// NewWithBackend makes a client of an existing backend, for tests.
func NewWithBackend(b *Backend) *Client { return &Client{backend: b} }

// Backend returns the backend, or the reason why there is none.
func (c *Client) Backend() (*Backend, error) {
	switch {
	case c == nil || c.isConfigUnknown:
		return nil, ErrUnknownConfig
	case len(c.missingAttributes) > 0:
		return nil, fmt.Errorf("%w: it lacks %s", ErrMissingConfig, strings.Join(c.missingAttributes, " and "))
	default:
		return c.backend, nil
	}
}

// BackendForRead returns the backend for the refresh of an object, such as "VM web-1". It is
// nil if there is none, and the diagnostics say why.
func (c *Client) BackendForRead(object, doing string, diags *diag.Diagnostics) *Backend {
	b, err := c.Backend()
	switch {
	case errors.Is(err, ErrUnknownConfig):
		diags.AddWarning(object+" was not refreshed",
			"The provider's configuration depends on an object that does not exist yet, so the plan uses the last known state.")
		return nil
	case err != nil:
		diagnostics.ReportError(diags, doing, err)
		return nil
	}
	return b
}

// AnnounceRead notes that Terraform reads the object with this id next. Ids of VMs, VM hosts and
// machines are MAAS's system ids.
func (c *Client) AnnounceRead(ctx context.Context, id string) {
	if c != nil && c.backend != nil && c.backend.announceRead != nil && id != "" {
		c.backend.announceRead(ctx, id)
	}
}

// PersistOwner makes sure that the owner outlives this run.
func (c *Client) PersistOwner() error { return c.Owner.persist() }

// PersistAdopter makes sure that the owner outlives this run if the object has no key yet, as
// an imported or moved one. The update marks it for this owner.
func (c *Client) PersistAdopter(key engine.Key, diags *diag.Diagnostics) {
	if key != "" || diags.HasError() {
		return
	}
	if err := c.Owner.persist(); err != nil {
		diagnostics.ReportError(diags, "keep the owner that marks imported objects", err)
	}
}

// CheckOwner returns an error at once if the owner is invalid or missing.
func (c *Client) CheckOwner() error {
	if c.backend == nil {
		return nil
	}
	return c.Owner.check()
}

// CheckLedger returns an error at once if an existing ledger cannot be used.
func (c *Client) CheckLedger(ctx context.Context) error {
	if c.backend == nil {
		return nil
	}
	return c.backend.ledger.checkExisting(ctx)
}

// EnsureMAASMark is the backend's EnsureMAASMark, if there is a backend.
func (c *Client) EnsureMAASMark(ctx context.Context, diags *diag.Diagnostics) string {
	return c.backend.EnsureMAASMark(ctx, diags)
}

// MAASAfterUpdate is the mark of this MAAS for an updated object. It is the known one if the
// update has not found the object.
func (c *Client) MAASAfterUpdate(ctx context.Context, systemID, known string, diags *diag.Diagnostics) string {
	if systemID == "" {
		return known
	}
	return cmp.Or(c.backend.EnsureMAASMark(ctx, diags), known)
}

// CanCheckPlan tells whether the provider can ask MAAS during a plan.
func (c *Client) CanCheckPlan() bool {
	_, err := c.Backend()
	return err == nil && c.Run.WantsPlanCheck(false)
}

// NotePlanned records what the plan does with an object, and tells whether it replaces it. If two
// resources of this run have or create the same object, it refuses before either is changed.
func (c *Client) NotePlanned(kind string, name types.String, action Action, diags *diag.Diagnostics) Replacement {
	if c == nil || !values.IsSet(name) {
		return Replacement{IsReplaced: action == ActionRecreate}
	}
	object := kind + name.ValueString()
	replacement, isDuplicate := c.Run.notePlannedAction(object, action)
	if isDuplicate {
		verb := map[Action]string{ActionChange: "keep ", ActionReplace: "replace ", ActionRecreate: "replace ", ActionCreate: "create "}[action]
		diagnostics.ReportError(diags, verb+object, duplicateResourceError(object))
	}
	if action == ActionCreate {
		c.warnOwnerOfJob(diags)
	}
	warnUnconfigured(c, diags)
	return replacement
}

// warnUnconfigured warns, once in a run, that a plan was made without MAAS. A shell without the variables
// plans as if all were well.
func warnUnconfigured(c *Client, diags *diag.Diagnostics) {
	if _, err := c.Backend(); errors.Is(err, ErrMissingConfig) && c.Run.ClaimWarning("unconfigured") {
		diags.AddWarning("The plan is not checked against MAAS", diagnostics.ExplainError(err))
	}
}

// NotePlannedName records the name that the plan gives an existing object, such as "VM web". An empty
// name says that the plan destroys it. If two resources of the state have the object, as after an
// import at two addresses, it refuses: the destroy of one would take it from the other.
func (c *Client) NotePlannedName(names *PlannedNames, object string, id, name types.String, diags *diag.Diagnostics) {
	if id.ValueString() == "" || name.IsUnknown() || !names.NotePlan(id.ValueString(), name.ValueString()) {
		return
	}
	verb := "keep "
	if name.IsNull() {
		verb = "destroy "
	}
	diagnostics.ReportError(diags, verb+object, sharedObjectError(id.ValueString()))
}

// ActionOf is what a plan does with an object: exists tells that the state has it, replaces that
// an attribute replaces it, and hasPrivateState that the object had a state before this plan.
func ActionOf(exists, replaces, hasPrivateState bool) Action {
	switch {
	case !exists && hasPrivateState:
		return ActionRecreate
	case !exists:
		return ActionCreate
	case replaces:
		return ActionReplace
	default:
		return ActionChange
	}
}

// ClaimKey claims a key for one resource in this run. The engine continues a VM of an earlier
// run by its key. Without the claim, two resources with the same name would get the same VM.
func (c *Client) ClaimKey(key engine.Key, name string) error {
	if _, taken := c.claimedKeys.LoadOrStore(key, true); taken {
		return duplicateResourceError(name)
	}
	return nil
}

// duplicateResourceError says that two resources of one configuration create the same object,
// such as "VM web".
func duplicateResourceError(object string) error {
	return &engine.SpecError{
		Field: fieldpath.New("name"), Message: fmt.Sprintf("another resource of this configuration has the same name, %s", object),
		Hint: "Give one of them another name. " + DestroyAllHint, Err: engine.ErrConflict,
	}
}

// sharedObjectError says that two resources of the state have one object.
func sharedObjectError(systemID string) error {
	return &engine.SpecError{
		Field: fieldpath.New("id"), Message: fmt.Sprintf("another resource of this state has the same object, system id %s", systemID),
		Hint: "Let one of the two forget it: terraform state rm ADDRESS. Then delete the block of that address. " +
			"If you only delete the block, Terraform destroys what the other resource keeps.", Err: engine.ErrConflict,
	}
}

// duplicateNameError says that two resources of one configuration take the same name, and one
// of them by a rename.
func duplicateNameError(object string) error {
	return &engine.SpecError{
		Field: fieldpath.New("name"), Message: "another resource of this configuration also becomes " + object,
		Hint: "Names are unique in the whole MAAS: give one of them another name.", Err: engine.ErrConflict,
	}
}

// ReadTimeout limits a read of MAAS unless timeouts sets another limit. The schemas'
// descriptions name it too.
const ReadTimeout = 2 * time.Minute

// FromProviderData returns the client that Configure handed over. While Terraform validates,
// the provider is not configured, and it is nil.
func FromProviderData(data any, diags *diag.Diagnostics) *Client {
	c, ok := data.(*Client)
	if !ok && data != nil {
		diags.AddError("The provider has a bug", fmt.Sprintf("It handed over a %T. Please report this.", data))
	}
	return c
}
