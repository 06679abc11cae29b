package problem

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/maaslxd/maaslxd/capi-bridge/api/v1beta1"
	"github.com/maaslxd/maaslxd/capi-bridge/controller/requeue"
	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
	"github.com/maaslxd/maaslxd/engine"
)

// TestLastingProblemStaysEqual: a connection that breaks again and again says the same each time, so
// that its condition is written once.
func TestLastingProblemStaysEqual(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"read tcp 10.0.0.2:54321->10.0.0.1:5240: connection reset by peer":    "read tcp 10.0.0.2->10.0.0.1:5240: connection reset by peer",
		"write tcp [fe80::2]:54321->[fe80::1]:8443: broken pipe":              "write tcp [fe80::2]->[fe80::1]:8443: broken pipe",
		"dial tcp 10.0.0.1:5240: connect: connection refused":                 "dial tcp 10.0.0.1:5240: connect: connection refused",
		"machine m1 (abc) is Ready, and 3 of 5->6 cores of its host are used": "machine m1 (abc) is Ready, and 3 of 5->6 cores of its host are used",
	} {
		if got := FromError(errors.New(said)).Message; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestContextEndInPlainWords: people read a condition, so it has no words of Go's context package.
func TestContextEndInPlainWords(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   string
	}{
		"Deadline":  {"A call took too long.", fmt.Errorf("cannot list machines: %w", context.DeadlineExceeded), "cannot list machines: there was no answer in time"},
		"Cancelled": {"The manager stops.", fmt.Errorf("cannot list machines: %w", context.Canceled), "cannot list machines: it was interrupted"},
		"Typed": {
			"The engine's error has a cause.",
			&engine.Error{Type: engine.HostUnavailable, Host: "h1", Message: "cannot read its storage pools", Hint: "Look at LXD.", Err: context.DeadlineExceeded},
			"cannot read its storage pools (VM host h1): there was no answer in time. Look at LXD.",
		},
		"BesideSpec": {
			"Two checks failed, and only one of them is about a field.",
			errors.Join(&engine.SpecError{Field: fieldpath.New("zone"), Message: "MAAS has no such zone"}, fmt.Errorf("cannot list images: %w", context.DeadlineExceeded)),
			"spec.failureDomain: MAAS has no such zone; cannot list images: there was no answer in time",
		},
		"BareSentinel": {"A sentinel is for programs.", fmt.Errorf("rack is away: %w", engine.ErrUnavailable), "rack is away"},
		"TextOfMAAS": {
			"MAAS's own text stays as it is.", fmt.Errorf("MAAS says: context deadline exceeded, in rack-1: %w", context.DeadlineExceeded),
			"MAAS says: context deadline exceeded, in rack-1: there was no answer in time",
		},
	} {
		if got := FromError(tc.err).Message; got != tc.want {
			t.Errorf("%s: %s\ngot %q, want %q", name, tc.reason, got, tc.want)
		}
	}
}

// TestLedgerProblems: what is wrong with the ledger is not told of MAAS or its key.
func TestLedgerProblems(t *testing.T) {
	t.Parallel()
	const at = "https://ledger.example:7443"
	for name, tc := range map[string]struct {
		reason string
		err    error
		after  time.Duration
		says   string
	}{
		"Away":    {"The service comes back by itself.", fmt.Errorf("the ledger service cannot be reached: %w", engine.ErrUnavailable), requeue.RetryAfter, "The manager places nothing until then"},
		"Refused": {"The certificate belongs to the manager and not to the identity, so a person must replace it.", &engine.Refusal{Message: "client ci was revoked", Hint: "Ask for another one.", Err: engine.ErrForbidden}, requeue.ManualAfter, "Ask for another one."},
	} {
		p := FromError(fmt.Errorf("cannot reserve room for web-1: %w", engine.AsLedgerError(at, tc.err)))
		if p.Reason != infrav1.LedgerUnavailableReason || p.RetryAfter != tc.after {
			t.Errorf("%s: %s\ngot %+v", name, tc.reason, p)
		}
		for _, says := range []string{tc.says, "--ledger names " + at} {
			if !strings.Contains(p.Message, says) {
				t.Errorf("%s: %q is not in %q", name, says, p.Message)
			}
		}
		if strings.Contains(p.Message, "MAAS") {
			t.Errorf("%s: it tells of MAAS: %q", name, p.Message)
		}
	}
	if p := FromError(engine.AsLedgerError(at, engine.ErrBusy)); p.Reason == infrav1.LedgerUnavailableReason {
		t.Errorf("others' reservations are no failure of the ledger: %+v", p)
	}
}

// TestSpecFields: a condition names the field of the object that a path of the engine's came from.
func TestSpecFields(t *testing.T) {
	t.Parallel()
	of := fieldpath.New
	for _, tc := range []struct {
		field  fieldpath.Path
		want   string
		reason string
	}{
		{of("zone"), "spec.failureDomain", infrav1.InvalidSpecReason},
		{of("selector", "zone"), "spec.failureDomain", infrav1.InvalidSpecReason},
		{of("selector", "tags"), "spec (minCPU, minMemory, minDiskSize, tags, resourcePool, failureDomain) (tags)", infrav1.InvalidSpecReason},
		{of("disks").Key("data").Child("pool"), "spec.lxdConfig.storage (data.pool)", infrav1.InvalidSpecReason},
		{of("interfaces").Key("eth0").Child("ip"), "spec.lxdConfig.network.interfaces (eth0.ip)", infrav1.StaticIPUnavailableReason},
		{of("interfaces").Key("eth0").Child("bridge"), "spec.lxdConfig.network.interfaces (eth0.bridge)", infrav1.InvalidSpecReason},
		{of("interfaces").Key(StaticNIC).Child("ip"), "spec.staticIP (ip)", infrav1.StaticIPUnavailableReason},
		{of("project"), "spec.lxdConfig.project", infrav1.ProjectNotFoundReason},
		{of("profile"), "spec.lxdConfig.profile", infrav1.ProfileNotFoundReason},
		{of("dns", "domain"), "spec.dnsDomain of the MaasCluster", infrav1.InvalidSpecReason},
		{of("dns", "ttl"), "the DNS record of the API server (ttl)", infrav1.InvalidSpecReason},
		{of("weather"), "weather", infrav1.InvalidSpecReason},
	} {
		p := FromError(fmt.Errorf("cannot go on: %w", &engine.SpecError{Field: tc.field, Message: "is wrong", Hint: "Mend it."}))
		if want := tc.want + ": is wrong. Mend it."; p.Message != want || p.Reason != tc.reason {
			t.Errorf("%s: got %s %q, want %s %q", tc.field, p.Reason, p.Message, tc.reason, want)
		}
	}
}
