package engine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// Sentinels for what a caller may act on. Adapters wrap them; callers match
// them with errors.Is.
var (
	// ErrNotFound: the thing does not exist, or no longer.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the thing exists and is not ours, or its state forbids
	// what was asked.
	ErrConflict = errors.New("conflict")
	// ErrBusy: it cannot be done now; the same request may work later.
	ErrBusy = errors.New("busy")
	// ErrGone: this MAAS no longer has the call (410: VM hosts are removed
	// after MAAS 3.8).
	ErrGone = errors.New("gone")
	// ErrForbidden: the credentials are wrong or do not suffice.
	ErrForbidden = errors.New("forbidden")
	// ErrOtherServer: an LXD shows another certificate than the one by which it
	// is known. Nothing was sent to it.
	ErrOtherServer = errors.New("another server")
	// ErrInvalid: MAAS refused a value; no retry helps.
	ErrInvalid = errors.New("invalid")
	// ErrUnavailable: MAAS, its rack controller or an LXD could not be
	// reached or answered with an error of its own.
	ErrUnavailable = errors.New("unavailable")
	// ErrUnclear: the call may or may not have taken effect, because its
	// reply was lost. Only a look tells.
	ErrUnclear = errors.New("outcome unknown")
)

// ErrorType is one of the error types that users of the LXD front ends
// match on.
type ErrorType string

// The six types.
const (
	HostUnavailable       ErrorType = "HostUnavailable"
	InsufficientResources ErrorType = "InsufficientResources"
	ProfileNotFound       ErrorType = "ProfileNotFound"
	ProjectNotFound       ErrorType = "ProjectNotFound"
	VMCreationFailed      ErrorType = "VMCreationFailed"
	VMDeploymentFailed    ErrorType = "VMDeploymentFailed"
)

// Error is a failure of an LXD host or VM. Its text reads
// "LXD <type>: <message>", with the host where one is known.
type Error struct {
	Type    ErrorType
	Host    string // name of the VM host, may be empty
	Message string
	Hint    string // what the user can do, may be empty
	Err     error  // the cause, may be nil
	// Evidence is what MAAS shows of it besides.
	Evidence Evidence
}

func (e *Error) Error() string {
	s := fmt.Sprintf("LXD %s: %s", e.Type, e.Message)
	if e.Host != "" {
		s += fmt.Sprintf(" (VM host %s)", e.Host)
	}
	return s + causeText(e.Err) + e.Evidence.String()
}

func (e *Error) Unwrap() error { return e.Err }

// SpecError is a wish that cannot be met as it is written. Field is the part of the spec:
// zone, deploy.image, disks.root.pool. Each front end turns it into its own.
type SpecError struct {
	Field   fieldpath.Path
	Message string
	Hint    string
	Err     error // the cause, may be nil
}

func (e *SpecError) Error() string {
	if e.Field.IsEmpty() {
		return e.Reason()
	}
	return e.Field.String() + ": " + e.Reason()
}

// Reason is what is wrong, without the field.
func (e *SpecError) Reason() string { return e.Message + causeText(e.Err) }

func (e *SpecError) Unwrap() error { return e.Err }

// Refusal says what the engine will not do, although the spec is well formed:
// to a machine that is locked or someone else's, on a MAAS that lacks what it
// takes. No repetition mends it.
type Refusal struct {
	Message string
	Hint    string
	Err     error // the sentinel it stands for
	// Everywhere tells that no other host would do, either.
	Everywhere bool
	// Evidence is what MAAS shows of it besides.
	Evidence Evidence
}

func (e *Refusal) Error() string { return e.Message + causeText(e.Err) + e.Evidence.String() }

func (e *Refusal) Unwrap() error { return e.Err }

// RunningError says that a VM must be stopped before it can be changed.
type RunningError struct{ *Refusal }

func (e *RunningError) Unwrap() error { return e.Refusal }

var sentinels = []error{
	ErrNotFound, ErrConflict, ErrBusy, ErrGone, ErrForbidden, ErrOtherServer, ErrInvalid, ErrUnavailable, ErrUnclear,
}

// causeText is the text of a cause. A bare sentinel only sorts an error; for
// people it adds nothing to the message.
func causeText(cause error) string {
	if cause == nil || slices.Contains(sentinels, cause) {
		return ""
	}
	return ": " + cause.Error()
}

type terminalError struct{ err error }

func (e terminalError) Error() string { return e.err.Error() }

func (e terminalError) Unwrap() error { return e.err }

// MarkTerminal marks err as one that no repetition mends. Nil stays nil.
func MarkTerminal(err error) error {
	if err == nil {
		return nil
	}
	return terminalError{err}
}

// IsTerminal reports whether err was marked by Terminal, is a SpecError or a
// Refusal, or wraps a sentinel that repetition cannot mend (ErrGone, ErrForbidden,
// ErrOtherServer, ErrInvalid, ErrConflict).
func IsTerminal(err error) bool {
	var t terminalError
	var s *SpecError
	var r *Refusal
	return errors.As(err, &t) || errors.As(err, &s) || errors.As(err, &r) ||
		errors.Is(err, ErrGone) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrOtherServer) ||
		errors.Is(err, ErrInvalid) || errors.Is(err, ErrConflict)
}

// HeldError says that another run makes an object for a key at this moment.
type HeldError struct {
	Key Key
	By  string // who, for people
}

func (e *HeldError) Error() string { return fmt.Sprintf("another run (%s) is making %s", e.By, e.Key) }

func (e *HeldError) Unwrap() error { return ErrConflict }

// LedgerError is a failure of the ledger, and not of MAAS: it cannot be reached, read or
// written, or refuses this client. Its text is that of the cause.
type LedgerError struct {
	Ledger string // the path of its file, or the address of its service
	Err    error
}

func (e *LedgerError) Error() string { return e.Err.Error() }

func (e *LedgerError) Unwrap() error { return e.Err }

// Hint is what the user can do as far as the ledger knows it, may be empty.
func (e *LedgerError) Hint() string {
	if refusal, ok := errors.AsType[*Refusal](e.Err); ok {
		return refusal.Hint
	}
	return ""
}

// AsLedgerError marks an error as one of a ledger. What the port promises as an answer stays
// as it is: ErrNotFound, ErrBusy, a *HeldError and an *Error. Nil stays nil.
func AsLedgerError(ledger string, err error) error {
	var (
		held   *HeldError
		answer *Error
		marked *LedgerError
	)
	if err == nil || errors.Is(err, ErrNotFound) || errors.Is(err, ErrBusy) || errors.As(err, &held) || errors.As(err, &answer) || errors.As(err, &marked) {
		return err
	}
	return &LedgerError{Ledger: ledger, Err: err}
}
