package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/maaslxd/maaslxd/cloudinit/fieldpath"
)

// Errors that a caller may act on. Adapters wrap them; callers match them with errors.Is.
var (
	// ErrNotFound means that the object does not exist, or no longer does.
	ErrNotFound = errors.New("not found")
	// ErrConflict means that the object exists and is not ours, or that its state forbids the
	// request.
	ErrConflict = errors.New("conflict")
	// ErrBusy means that this is impossible now. The same request may work later.
	ErrBusy = errors.New("busy")
	// ErrGone means that this MAAS no longer has the call (410: VM hosts are removed after MAAS
	// 3.8).
	ErrGone = errors.New("gone")
	// ErrForbidden means that the credentials are wrong or lack a permission.
	ErrForbidden = errors.New("forbidden")
	// ErrHidden is an ErrForbidden. MAAS shows a user who is no administrator only the machines
	// of nobody and of that user. A machine that is not shown is gone, or it is another user's.
	ErrHidden = fmt.Errorf("may be hidden: %w", ErrForbidden)
	// ErrOtherServer means that an LXD shows another certificate than the known one. Nothing
	// was sent to it.
	ErrOtherServer = errors.New("another server")
	// ErrInvalid means that MAAS refused a value. No retry helps.
	ErrInvalid = errors.New("invalid")
	// ErrUnavailable means that MAAS, its rack controller or an LXD could not be reached, or
	// answered with an error of its own.
	ErrUnavailable = errors.New("unavailable")
	// ErrRoomLeaving means that VMs are being deleted whose room may be the missing room.
	ErrRoomLeaving = errors.New("VMs that are being deleted still hold room")
	// ErrUnclear means that the call may have taken effect or not, because its reply was lost.
	// Only a look tells.
	ErrUnclear = errors.New("outcome unknown")
)

// ErrorType is one of the error types that users of the LXD front ends match on.
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

// Error is a failure of a VM host or a VM. Its text reads "LXD <type>: <message>", with the
// host if it is known.
type Error struct {
	Type    ErrorType
	Host    string // name of the VM host, may be empty
	Message string
	Hint    string // what the user can do, may be empty
	Ways    []Way  // what else the user can do, in the words of a front end
	Err     error  // the cause, may be nil
	// Evidence is what else MAAS shows about it.
	Evidence Evidence
}

func (e *Error) Error() string {
	s := e.Message
	if e.Host != "" && !strings.Contains(s, "VM host "+e.Host) {
		s += fmt.Sprintf(" (VM host %s)", e.Host)
	}
	return s + causeText(e.Err) + e.Evidence.String()
}

func (e *Error) Unwrap() error { return e.Err }

// SpecError says that a spec cannot be met as it is written. Field is the part of the spec:
// zone, deploy.image, disks.root.pool. Each front end turns Field into its own attribute.
type SpecError struct {
	Field   fieldpath.Path
	Message string
	Hint    string
	Ways    []Way
	Err     error // the cause, may be nil
}

func (e *SpecError) Error() string {
	if e.Field.IsEmpty() {
		return e.Reason()
	}
	return e.Field.String() + ": " + e.Reason()
}

// Reason is the message and the cause, without the field.
func (e *SpecError) Reason() string { return e.Message + causeText(e.Err) }

func (e *SpecError) Unwrap() error { return e.Err }

// Refusal says what the engine will not do, although the spec is well formed. For example, the
// machine is locked or someone else's, or this MAAS lacks a needed feature. No retry helps.
type Refusal struct {
	Message string
	Hint    string
	Ways    []Way
	Err     error // the error that callers match on
	// Everywhere means that no other host would do, either.
	Everywhere bool
	// Evidence is what else MAAS shows about it.
	Evidence Evidence
}

func (e *Refusal) Error() string { return e.Message + causeText(e.Err) + e.Evidence.String() }

func (e *Refusal) Unwrap() error { return e.Err }

// RunningError says that a VM must be stopped before this change.
type RunningError struct{ *Refusal }

func (e *RunningError) Unwrap() error { return e.Refusal }

var sentinels = []error{
	ErrNotFound, ErrConflict, ErrBusy, ErrGone, ErrHidden, ErrForbidden, ErrOtherServer, ErrInvalid, ErrUnavailable, ErrUnclear,
}

// causeText is the text of a cause. It is empty for a bare Err… value: such a value only sorts
// an error and tells people nothing more.
func causeText(cause error) string {
	if cause == nil || slices.Contains(sentinels, cause) {
		return ""
	}
	return ": " + ErrorText(cause)
}

// ErrorText is the text of an error for people. It ends without a bare Err… value, and says in
// plain words that a call got no answer.
func ErrorText(err error) string {
	text := err.Error()
	for _, sentinel := range sentinels {
		if errors.Is(err, sentinel) {
			text = strings.TrimSuffix(text, ": "+sentinel.Error())
		}
	}
	for _, end := range contextEnds {
		if before, found := strings.CutSuffix(text, end.err.Error()); found && errors.Is(err, end.err) {
			return before + end.text
		}
	}
	return text
}

// contextEnds are the ends of a call's context, in plain words.
var contextEnds = []struct {
	err  error
	text string
}{
	{context.DeadlineExceeded, "there was no answer in time"},
	{context.Canceled, "it was interrupted"},
}

type terminalError struct{ err error }

func (e terminalError) Error() string { return e.err.Error() }

func (e terminalError) Unwrap() error { return e.err }

// MarkTerminal marks err as one that no retry helps against. Nil stays nil.
func MarkTerminal(err error) error {
	if err == nil {
		return nil
	}
	return terminalError{err}
}

// IsTerminal reports whether no retry helps against err. That holds for an error from
// MarkTerminal, for a SpecError, and for a Refusal. It also holds for an error that wraps
// ErrGone, ErrForbidden, ErrOtherServer, ErrInvalid or ErrConflict.
func IsTerminal(err error) bool {
	var t terminalError
	var s *SpecError
	var r *Refusal
	return errors.As(err, &t) || errors.As(err, &s) || errors.As(err, &r) ||
		errors.Is(err, ErrGone) || errors.Is(err, ErrForbidden) || errors.Is(err, ErrOtherServer) ||
		errors.Is(err, ErrInvalid) || errors.Is(err, ErrConflict)
}

// HeldError says that another run is making the object of a key now.
type HeldError struct {
	Key Key
	By  string // the other run, in words for people
}

func (e *HeldError) Error() string { return fmt.Sprintf("another run (%s) is making %s", e.By, e.Key) }

func (e *HeldError) Unwrap() error { return ErrConflict }

// LedgerError is a failure of the ledger, not of MAAS. The ledger cannot be reached, read or
// written, or it refuses this client. Its text is that of the cause.
type LedgerError struct {
	Ledger string // the path of its file, or the address of its service
	Err    error
}

func (e *LedgerError) Error() string { return e.Err.Error() }

func (e *LedgerError) Unwrap() error { return e.Err }

// Hint is the advice of the ledger to the user; it may be empty.
func (e *LedgerError) Hint() string {
	if refusal, ok := errors.AsType[*Refusal](e.Err); ok {
		return refusal.Hint
	}
	return ""
}

// AsLedgerError marks an error as one of a ledger. It leaves the answers that the port promises
// as they are: ErrNotFound, ErrBusy, a *HeldError and an *Error. Nil stays nil.
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
