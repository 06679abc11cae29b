// Package site holds MAAS's objects other than machines, networks and images: keys of
// users, settings, and what an operator configures.
package site

// Site has all these objects. The keys of the maps are ids.
type Site struct {
	SSHKeys map[int]*Key
	SSLKeys map[int]*Key

	Settings map[string]any // settings with a value that somebody set

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
