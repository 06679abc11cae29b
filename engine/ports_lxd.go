package engine

import (
	"context"
)

// Enlister makes machines of instances that an LXD has already, one by one: how
// MAAS comes to know a VM where it has no VM hosts.
type Enlister interface {
	// Enlist makes a New machine, which is not commissioned. MAAS does not ask
	// the LXD: an instance that is not there is accepted, too. Never repeated by
	// the adapter: ErrUnclear when the reply was lost, and then Enlisted tells.
	// A MAC that MAAS has already is a FieldError of mac_addresses, a hostname
	// one of hostname.
	Enlist(ctx context.Context, e Enlistment) (systemID string, err error)
	// Enlisted lists the machines that have one of these MACs, as MAAS has them
	// now. None if there are none.
	Enlisted(ctx context.Context, macs ...string) ([]Machine, error)
	// PowerOf says by which instance MAAS turns a machine on and off, without
	// the credentials. ErrNotFound if the machine is absent, or no instance of
	// an LXD.
	PowerOf(ctx context.Context, systemID string) (Instance, error)
	// Rekey says anew by which instance MAAS turns the machine on and off, and
	// which credentials MAAS shows to its LXD: those that the machine was enlisted
	// with stay with it otherwise. May be repeated; neither machine nor instance is
	// touched. ErrNotFound if the machine is absent.
	Rekey(ctx context.Context, systemID string, i Instance, c Credentials) error
	// Dismiss deletes the machine's record. An absent machine is no error.
	Dismiss(ctx context.Context, systemID string) error
}

// Instance is an instance of an LXD, as MAAS finds it.
type Instance struct {
	Endpoint
	Name string
}

// Enlistment is a machine to be, made of an instance.
type Enlistment struct {
	Hostname     string
	Architecture string   // "amd64/generic"
	MACs         []string // of all its interfaces, the one that it boots from first
	Instance
	// Credentials by which MAAS is known to the LXD. MAAS keeps them with the
	// machine.
	Credentials
	Description string
	Zone        string // names; empty: MAAS's default
	Pool        string
	Domain      string
}
