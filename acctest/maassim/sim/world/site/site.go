// Package site is what MAAS keeps beside machines, networks and images: keys of
// users, settings, and the small things that an operator makes.
package site

// Site is all of it. A map's key is the id.
type Site struct {
	SSHKeys map[int]*Key
	SSLKeys map[int]*Key

	Settings map[string]any // those that were set

	Repositories  map[int]*Repository
	BootSources   map[int]*BootSource
	Notifications map[int]*Notification
}

// New is a site right after the installation.
func New() *Site {
	return &Site{
		SSHKeys: map[int]*Key{}, SSLKeys: map[int]*Key{}, Settings: map[string]any{},
		Repositories: repositories(), BootSources: bootSources(), Notifications: map[int]*Notification{},
	}
}

// Key is a key or a certificate of a user.
type Key struct {
	ID   int
	User string
	Text string
}
