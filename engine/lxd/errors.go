package lxd

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"time"

	"github.com/canonical/lxd/shared/api"

	"github.com/maaslxd/maaslxd/engine"
)

// explain makes one sentence and a way out of what went wrong within the time
// of a look.
func (t target) explain(err error) error {
	if _, ok := errors.AsType[*engine.Error](err); ok {
		return err
	}
	if other, ok := errors.AsType[*otherCertificate](err); ok {
		return t.changed(other)
	}
	if status, ok := api.StatusErrorMatch(err); ok {
		return t.answered(status)
	}
	return unavailable(t.unreachable(err))
}

func unavailable(message, hint string) error {
	return &engine.Error{Type: engine.HostUnavailable, Message: message, Hint: hint, Err: engine.ErrUnavailable}
}

func forbidden(message, hint string) error {
	return &engine.Error{Type: engine.HostUnavailable, Message: message, Hint: hint, Err: engine.ErrForbidden}
}

// givenUp is the error of a look that its caller ended.
func (t target) givenUp(cause error) error {
	return fmt.Errorf("given up before the LXD at %s answered: %w", t.address, cause)
}

func (t target) silent(timeout time.Duration) error {
	return unavailable(fmt.Sprintf("the LXD at %s did not answer within %s", t.address, timeout),
		"Check that this machine reaches that address and port, also through firewalls; or let MAAS alone reach the hosts.")
}

func (t target) changed(e *otherCertificate) error {
	return &engine.Error{
		Type:    engine.HostUnavailable,
		Message: fmt.Sprintf("the LXD at %s shows the certificate %s, but is known by %s", t.address, e.shown, e.pinned),
		Hint: fmt.Sprintf("If LXD was installed anew there, or its certificate renewed, compare what `lxc info` says on the host as certificate_fingerprint, "+
			"and accept it: server_fingerprint = %q. Otherwise something else answers at that address: nothing was sent to it.", e.shown),
		Err: engine.ErrOtherServer,
	}
}

func (t target) untrusted() error {
	return forbidden(
		fmt.Sprintf("the LXD at %s does not trust the client certificate %s", t.address, t.key.Fingerprint),
		fmt.Sprintf("On the host, trust it: lxc config trust add FILE --restricted --projects %s, where FILE holds the certificate. "+
			"Or give the pair that the host trusts as lxd_client_cert and lxd_client_key.", t.project))
}

// missing tells a project that is not there, or not for this certificate, from
// other errors. LXD answers 404 or 403 by its version.
func (t target) missing(err error) error {
	if !api.StatusErrorCheck(err, http.StatusNotFound, http.StatusForbidden) {
		return err
	}
	return &engine.Error{
		Type:    engine.ProjectNotFound,
		Message: fmt.Sprintf("the LXD at %s has no project %q that the client certificate %s may see", t.address, t.project, t.key.Fingerprint),
		Hint: fmt.Sprintf("On the host, create it (lxc project create %s), and add it to the projects of the certificate (lxc config trust edit %.12s).",
			t.project, t.key.Fingerprint),
	}
}

// OldestVersion is the LXD from which on VMs can be made.
const OldestVersion = "5.0"

func (t target) tooOld(version, extension string) error {
	return &engine.Error{
		Type:    engine.HostUnavailable,
		Message: fmt.Sprintf("LXD %s at %s is too old: LXD %s or newer is needed (it lacks the API extension %s)", version, t.address, OldestVersion, extension),
		Hint:    fmt.Sprintf("Install LXD %s or newer on the host (snap refresh lxd --channel=5.21/stable).", OldestVersion),
		Err:     engine.ErrInvalid,
	}
}

// answered is the error of a call that the LXD itself refused. Its words are
// not passed on.
func (t target) answered(status int) error {
	message := fmt.Sprintf("the LXD at %s answered %d (%s)", t.address, status, http.StatusText(status))
	if status == http.StatusForbidden || status == http.StatusUnauthorized {
		return forbidden(message, fmt.Sprintf("See on the host what the certificate %.12s may do: lxc config trust show %.12s.",
			t.key.Fingerprint, t.key.Fingerprint))
	}
	return unavailable(message, "See LXD's log on the host; it may be starting or stopping.")
}

// unreachable explains a call without an answer of LXD's.
func (t target) unreachable(err error) (message, hint string) {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "cannot find the address of " + dns.Name, "Check the name, and this machine's DNS."
	}
	failed, exchange := errors.AsType[*url.Error](err)
	switch {
	case !exchange, errors.Is(err, errNotLXD): // an answer came, but made no sense
		return fmt.Sprintf("what answers at %s is not an LXD", t.address), "Check host and port: LXD listens on 8443 unless told otherwise (core.https_address)."
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s: connection refused", t.address),
			"LXD may still be starting, or core.https_address is not set there."
	}
	return fmt.Sprintf("cannot speak with the LXD at %s: %v", t.address, failed.Err), // without Go's method and URL
		"LXD may be starting or stopping. Check address and port, and that TLS 1.3 is spoken there."
}
