package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// fieldsByParameter maps the parameter that MAAS refuses to the field of the spec.
var fieldsByParameter = map[string]fieldpath.Path{
	"hostname": fieldpath.New("name"), "cores": fieldpath.New("cores"), "pinned_cores": fieldpath.New("pinned_cores"),
	"memory": fieldpath.New("memory_mib"), "hugepages_backed": fieldpath.New("hugepages"), "storage": fieldpath.New("disks"),
	"interfaces": fieldpath.New("interfaces"), "zone": fieldpath.New("zone"), "pool": fieldpath.New("pool"), "domain": fieldpath.New("domain"),
	"distro_series": fieldpath.New("deploy", "image"), "osystem": fieldpath.New("deploy", "image"),
	"hwe_kernel": fieldpath.New("deploy", "kernel"), "user_data": fieldpath.New("deploy", "user_data"),
	"ephemeral_deploy": fieldpath.New("deploy", "ephemeral"), "enable_hw_sync": fieldpath.New("deploy", "enable_hw_sync"),
}

// AsSpecErrors turns MAAS's error about a parameter into one about the field of the spec that
// it came from. Other errors pass unchanged.
func AsSpecErrors(err error) error { return AsSpecErrorsBy(err, fieldsByParameter) }

// AsSpecErrorsBy is AsSpecErrors with another map from MAAS's parameters to fields.
func AsSpecErrorsBy(err error, fields map[string]fieldpath.Path) error {
	var refusal FieldError
	if !errors.As(err, &refusal) {
		return err
	}
	var errs []error
	said := refusal.Fields()
	for _, parameter := range slices.Sorted(maps.Keys(said)) {
		if field, ok := fields[parameter]; ok {
			errs = append(errs, &SpecError{Field: field, Message: "MAAS says: " + strings.Join(said[parameter], " "), Err: ErrInvalid})
		}
	}
	if len(errs) == 0 {
		return err
	}
	return errors.Join(errs...)
}

// LockedError says that a locked machine is neither changed nor deleted.
type LockedError struct {
	*Refusal
	Machine Machine
}

func (e *LockedError) Unwrap() error { return e.Refusal }

// NewLockedError refuses to do something with a locked machine.
func NewLockedError(m Machine, verb string) error {
	return &LockedError{Machine: m, Refusal: &Refusal{
		Message: fmt.Sprintf("cannot %s %s: it is locked in MAAS", verb, m.Hostname),
		Hint:    fmt.Sprintf("Unlock machine %s in MAAS first.", m.SystemID), Err: ErrConflict,
	}}
}

// NotOursError says that the machine belongs to somebody else.
func NotOursError(m Machine, verb string) error {
	whose := "was acquired outside of this program"
	if key := m.OwnerData[KeyData]; key != "" {
		whose = "belongs to " + key
	}
	return &Refusal{
		Message: fmt.Sprintf("cannot %s machine %s (%s, %s): it %s", verb, m.Hostname, m.SystemID, m.StatusName, whose),
		Hint:    "Release it in MAAS if nobody needs it, or choose another machine.", Err: ErrConflict,
	}
}

// AlreadyFinishedError says that a finished machine has the key of the object to make.
type AlreadyFinishedError struct{ *SpecError }

func (e AlreadyFinishedError) Unwrap() error { return e.SpecError }

// RecheckRefusal looks at the machine after a refusal. If its status has changed since the
// earlier look, the error is ErrBusy, and the next step decides. Otherwise the refusal stands.
func (c Config) RecheckRefusal(ctx context.Context, m Machine, refusal error) error {
	if !errors.Is(refusal, ErrConflict) && !errors.Is(refusal, ErrInvalid) {
		return refusal
	}
	now, err := c.Machines.Machine(ctx, m.SystemID)
	if err != nil || now.Status == m.Status {
		return refusal
	}
	return fmt.Errorf("%s is now %s: %w", m.Hostname, now.StatusName, ErrBusy)
}

// LinkError says why MAAS did not give a machine an address. It names what has taken the
// address since the check, as far as MAAS tells.
func (c Config) LinkError(ctx context.Context, field fieldpath.Path, subnet Subnet, ip netip.Addr, m Machine, refusal error) error {
	if errors.Is(refusal, ErrBusy) {
		return refusal
	}
	c.Names.Refresh(ListAddresses)
	err := c.CheckAddress(ctx, field, subnet, ip, m.SystemID)
	var bad *SpecError
	if errors.As(err, &bad) {
		return bad
	}
	return &SpecError{
		Field: field, Message: fmt.Sprintf("%s cannot have the address %s", m.Hostname, ip), Err: refusal,
		Hint: "Give an address that is free, in the subnet, and outside its dynamic ranges.",
	}
}

// Way is a way out of a failure that names a setting or a command of the front end. The engine
// knows no front end, so each one words the ways itself.
type Way string

// The ways.
const (
	// WayRetry is to ask for the same again, when the hint is followed.
	WayRetry Way = "retry"
	// WayRetryDelete is to delete the object again, when the hint is followed.
	WayRetryDelete Way = "retry-delete"
	// WayLookAgain is to look at MAAS and LXD again, when the LXD answers.
	WayLookAgain Way = "look-again"
	// WayImport is to manage the existing object with this system id.
	WayImport Way = "import"
	// WayImportLost is WayImport for an object that an earlier run of the same caller finished. The
	// caller may have lost its record.
	WayImportLost Way = "import-lost"
	// WayImportFormer is WayImport for an object that carries another owner's mark. The caller may
	// have had that owner's name before.
	WayImportFormer Way = "import-former"
	// WayMovedBlock is to say that the object is the same one under another name of the front end.
	WayMovedBlock Way = "moved-block"
	// WayUseAsIs is to manage a deployed machine without installing it again.
	WayUseAsIs Way = "use-as-is"
	// WayForget is to stop managing the object, which stays.
	WayForget Way = "forget"
	// WayDeleteFirst is to delete a VM before the VM that replaces it is made.
	WayDeleteFirst Way = "delete-first"
	// WayLoseContents is to delete a VM host with everything on it.
	WayLoseContents Way = "lose-contents"
	// WayLoseHost is to give up a VM together with its VM host, whose LXD is lost for good.
	WayLoseHost Way = "lose-host"
	// WayAdoptVMs is to register an LXD although MAAS takes over its VMs.
	WayAdoptVMs Way = "adopt-VMs"
	// WayComposeInLXD is to let VMs be made in LXD itself.
	WayComposeInLXD Way = "compose-in-LXD"
	// WayComposeAgain is to let VMs be made in LXD itself again, if that was so before.
	WayComposeAgain Way = "compose-in-LXD-again"
	// WayAskLXD is to let the LXD be asked, if MAAS has no VM hosts.
	WayAskLXD Way = "ask-LXD"
	// WayMakeHostFirst is to make a VM host before the VM, if the same run makes both.
	WayMakeHostFirst Way = "make-host-first"
	// WayDeleteToRelease is to delete the object, which releases its machine.
	WayDeleteToRelease Way = "delete-to-release"
	// WayOtherName is to give the new object another name.
	WayOtherName Way = "other-name"
	// WayInstallAgain is to ask for the same installation of an existing VM again.
	WayInstallAgain Way = "install-again"
	// WayTakeSnapshot is to take a snapshot first.
	WayTakeSnapshot Way = "take-snapshot"
	// WayInsecureKey is to send the private key over plain http.
	WayInsecureKey Way = "insecure-key"
)

// AllWays are the ways that a front end must know.
var AllWays = []Way{
	WayRetry, WayRetryDelete, WayLookAgain, WayImport, WayImportLost, WayImportFormer, WayMovedBlock, WayUseAsIs, WayForget, WayDeleteFirst, WayLoseContents, WayLoseHost, WayAdoptVMs,
	WayComposeInLXD, WayComposeAgain, WayAskLXD, WayMakeHostFirst, WayDeleteToRelease, WayOtherName, WayInstallAgain, WayTakeSnapshot, WayInsecureKey,
}

// ForMachine is the way for the machine with a system id.
func (w Way) ForMachine(systemID string) Way { return w + " " + Way(systemID) }

// Advice is a hint, followed by the ways in a front end's words. A front end that lacks a way
// has no words for it. The first %s in its words is the system id of the way.
func Advice(hint string, ways []Way, words map[Way]string) string {
	said := []string{hint}
	for _, way := range ways {
		kind, systemID, _ := strings.Cut(string(way), " ")
		said = append(said, strings.Replace(words[Way(kind)], "%s", systemID, 1))
	}
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(said, func(sentence string) bool { return sentence == "" }), " "))
}
