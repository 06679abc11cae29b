package world

import (
	"fmt"
	"slices"
	"time"
)

// Status is MAAS's number of a machine's status (enum.py, NODE_STATUS).
type Status int

// The statuses, by MAAS's numbers.
const (
	StatusNew Status = iota
	StatusCommissioning
	StatusFailedCommissioning
	StatusMissing
	StatusReady
	StatusReserved
	StatusDeployed
	StatusRetired
	StatusBroken
	StatusDeploying
	StatusAllocated
	StatusFailedDeployment
	StatusReleasing
	StatusFailedReleasing
	StatusDiskErasing
	StatusFailedDiskErasing
	StatusRescueMode
	StatusEnteringRescueMode
	StatusFailedEnteringRescueMode
	StatusExitingRescueMode
	StatusFailedExitingRescueMode
	StatusTesting
	StatusFailedTesting
)

// StatusWord is a status' name for people and its name in the status filter.
type StatusWord struct{ Name, Filter string }

// StatusWords are the names of all statuses, by number.
var StatusWords = []StatusWord{
	{"New", "new"}, {"Commissioning", "commissioning"},
	{"Failed commissioning", "failed_commissioning"}, {"Missing", "missing"},
	{"Ready", "ready"}, {"Reserved", "reserved"}, {"Deployed", "deployed"},
	{"Retired", "retired"}, {"Broken", "broken"}, {"Deploying", "deploying"},
	{"Allocated", "allocated"}, {"Failed deployment", "failed_deployment"},
	{"Releasing", "releasing"}, {"Releasing failed", "failed_releasing"},
	{"Disk erasing", "disk_erasing"}, {"Failed disk erasing", "failed_disk_erasing"},
	{"Rescue mode", "rescue_mode"}, {"Entering rescue mode", "entering_rescue_mode"},
	{"Failed to enter rescue mode", "failed_entering_rescue_mode"},
	{"Exiting rescue mode", "exiting_rescue_mode"},
	{"Failed to exit rescue mode", "failed_exiting_rescue_mode"},
	{"Testing", "testing"}, {"Failed testing", "failed_testing"},
}

// String is MAAS's name of the status.
func (s Status) String() string { return StatusWords[s].Name }

// IsStatusIn tells whether a status is one of those.
func IsStatusIn(s Status, those ...Status) bool { return slices.Contains(those, s) }

// notPreviousStatuses are statuses that MAAS never stores as the previous status. From
// them a machine returns to the status before (models/signals/nodes.py).
var notPreviousStatuses = []Status{
	StatusRescueMode, StatusEnteringRescueMode, StatusFailedEnteringRescueMode,
	StatusExitingRescueMode, StatusFailedExitingRescueMode, StatusTesting,
}

// SetStatus changes the machine's status and adds the event (models/signals/events.py). A
// New or Ready machine has no owner (models/signals/nodes.py).
func (m *Machine) SetStatus(s Status) {
	old := m.Status
	if old == s {
		return
	}
	m.Status = s
	if !IsStatusIn(old, notPreviousStatuses...) {
		m.PreviousStatus = old
	}
	if IsStatusIn(s, StatusNew, StatusReady) {
		m.Owner = nil
	}
	text := fmt.Sprintf("From '%s' to '%s'", old, s)
	if s == StatusAllocated && m.Owner != nil {
		text += " (to " + m.Owner.Name + ")"
	}
	m.AddEvent("DEBUG", "Node changed status", text, "")
}

// EventLevels are the levels of events, the lowest first (provisioningserver/events.py).
var EventLevels = []string{"AUDIT", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}

// Event is a line of MAAS's event log.
type Event struct {
	ID                 int
	Machine            *Machine
	Level              string
	Kind, Text, action string
	Username           string // user who asked for it, or empty
	Created            time.Time
}

// IsAtLeast tells whether the event is of the level or of a higher one.
func (e *Event) IsAtLeast(level string) bool {
	return slices.Index(EventLevels, e.Level) >= slices.Index(EventLevels, level)
}

// AddEvent adds an event.
func (m *Machine) AddEvent(level, kind, text, action string) {
	recordEvent(m, &Event{Level: level, Kind: kind, Text: text, action: action})
}

// AddStatusEvent adds an event that becomes the machine's status message.
func (m *Machine) AddStatusEvent(kind, text string) { m.AddEvent("INFO", kind, text, "") }

// AddRequestEvent adds the event of a user's request, with the user's comment
// (models/node.py, _register_request_event).
func (m *Machine) AddRequestEvent(u *User, kind, action, comment string) {
	text, name := comment, ""
	if u != nil {
		text, name = "("+u.Name+")", u.Name
		if comment != "" {
			text += " - " + comment
		}
	}
	recordEvent(m, &Event{Level: "DEBUG", Kind: kind, Text: text, action: action, Username: name})
}

func recordEvent(m *Machine, e *Event) {
	e.ID, e.Machine, e.Created = m.World.NextID("event"), m, time.Now()
	m.Events = append(m.Events, e)
	if e.IsAtLeast("INFO") {
		m.StatusEvent = e
	}
}

// Message is the event as its machine's status message. It is nil without an event
// (models/node.py, status_message).
func (e *Event) Message() *string {
	if e == nil {
		return nil
	}
	message := e.Kind
	if e.Text != "" {
		message += " - " + e.Text
	}
	return &message
}

// Action is the event's action. It is nil without an event.
func (e *Event) Action() *string {
	if e == nil {
		return nil
	}
	return &e.action
}
