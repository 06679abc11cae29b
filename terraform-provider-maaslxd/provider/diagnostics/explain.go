package diagnostics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/maaslxd/maaslxd/engine"
	"github.com/maaslxd/maaslxd/engine/maas/api"
)

// ExplainError is the text of an error, MAAS's evidence of it, and the way out.
func ExplainError(err error) string {
	shown := engine.EvidenceOfError(err)
	said := strings.Replace(engine.ErrorText(err), shown.String(), "", 1)
	return Sentence(said) + evidenceText(shown) + Paragraph(hintFor(err))
}

// evidenceText is MAAS's evidence of a failure, a line for each script.
func evidenceText(shown engine.Evidence) string {
	if len(shown) == 0 {
		return ""
	}
	return "\n\nMAAS shows\n- " + strings.Join(shown, "\n- ")
}

// remedy is a way out of errors that wrap err.
type remedy struct {
	err  error
	hint string
}

// remedies are in the order of precedence: an error may wrap several sentinels.
var remedies = []remedy{
	{context.DeadlineExceeded, "Apply again: what was begun is found and continued."},
	{context.Canceled, "Apply again: what was begun is found and continued."},
	{engine.ErrHidden, "Set api_key (MAAS_API_KEY) to the key of an administrator, who sees all machines. If the machine is gone, remove it from the " +
		"state with terraform state rm ADDRESS."},
	{engine.ErrForbidden, "api_key (MAAS_API_KEY) must be a valid key of an administrator of this MAAS: only administrators may compose VMs. `sudo maas " +
		"apikey --username NAME` on the MAAS server shows it."},
	{engine.ErrGone, "MAAS removed VM hosts after 3.8. Remove composer, or set it to \"auto\" or \"lxd\": VMs are then made in LXD itself. Or point " +
		"api_url (MAAS_API_URL) at a MAAS 3.8 or older."},
	{engine.ErrUnclear, "The answer of MAAS was lost, so the request may have been carried out. Apply again: the next run checks first."},
	{engine.ErrConflict, "If this configuration should manage the existing object, import it: `terraform import ADDRESS SYSTEM_ID`."},
	{engine.ErrBusy, "MAAS is busy with something else. Apply again in a while."},
	{engine.ErrUnavailable, "Check that api_url (MAAS_API_URL) is right, that MAAS and its rack controllers run, and that they reach " +
		"the VM host. Nothing is lost: apply again."},
	{engine.ErrNotFound, "It may have been deleted meanwhile. Plan again to see what exists."},
}

// hintFor is the way out, or "" if none is known. The hint closest to the failure fits best.
func hintFor(err error) string {
	if e, ok := errors.AsType[*engine.SpecError](err); ok {
		return advice(e.Hint, e.Ways)
	}
	if e, ok := errors.AsType[*engine.LedgerError](err); ok {
		return ledgerHint(e)
	}
	if e, ok := errors.AsType[*engine.LockedError](err); ok { // the next apply would lock it again
		return fmt.Sprintf("If deletion_protection of %s is true, set it to false and apply. Otherwise unlock machine %s in MAAS.", e.Machine.Hostname, e.Machine.SystemID)
	}
	if e, ok := errors.AsType[*engine.Refusal](err); ok {
		if hint := advice(e.Hint, e.Ways); hint != "" {
			return hint
		}
	}
	if e, ok := errors.AsType[*engine.Error](err); ok {
		if hint := advice(e.Hint, e.Ways); hint != "" {
			return hint
		}
	}
	if e, ok := errors.AsType[*api.Error](err); ok && e.Hint != "" {
		return e.Hint
	}
	for _, r := range remedies {
		if errors.Is(err, r.err) {
			return r.hint
		}
	}
	return ""
}

// ledgerHint is the way out of an error of the ledger, with the attribute that names it.
func ledgerHint(e *engine.LedgerError) string {
	hint := cmp.Or(e.Hint(), "Nothing is placed without the ledger, and nothing is lost: apply again when it is available.")
	if strings.Contains(hint, "MAASLXD_LEDGER") {
		return hint
	}
	return fmt.Sprintf("%s ledger (MAASLXD_LEDGER) in the provider block names %s.", hint, e.Ledger)
}

// Sentence ends a text with a full stop. It does not change the first letter, because that may
// belong to a name.
func Sentence(s string) string {
	if s == "" || strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

// Paragraph makes a text a paragraph of its own.
func Paragraph(s string) string {
	if s == "" {
		return ""
	}
	return "\n\n" + Sentence(s)
}

// WithOrderHint adds a hint for a placement that finds no host: as a rule, the same run makes
// the hosts at the same moment.
func WithOrderHint(err error) error {
	short, ok := errors.AsType[*engine.Error](err)
	if !ok || short.Type != engine.InsufficientResources {
		return err
	}
	hinted := *short
	hinted.Hint = strings.TrimSpace(short.Hint + " If a VM host is still to be made, give the VM depends_on = [maaslxd_vm_host.NAME]. Terraform then makes the VM host first.")
	return &hinted
}
