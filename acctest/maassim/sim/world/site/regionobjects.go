package site

import "time"

// Repository is a repository of packages.
type Repository struct {
	ID                                  int
	Name, URL, Key                      string
	Distributions, Components, Arches   []string
	DisabledPockets, DisabledComponents []string
	DisableSources, Enabled             bool
	Default                             bool // Ubuntu's own archives
}

// repositories are the repositories of a new MAAS.
func repositories() map[int]*Repository {
	return map[int]*Repository{
		1: {ID: 1, Name: "main_archive", URL: "http://archive.ubuntu.com/ubuntu", Arches: []string{"amd64", "i386"}, DisableSources: true, Enabled: true, Default: true},
		2: {ID: 2, Name: "ports_archive", URL: "http://ports.ubuntu.com/ubuntu-ports", Arches: []string{"armhf", "arm64", "ppc64el", "s390x"}, DisableSources: true, Enabled: true, Default: true},
	}
}

// BootSource is a server of images.
type BootSource struct {
	ID               int
	URL, KeyringFile string
	Keyring          []byte
	Created, Updated time.Time
	Selections       map[int]*Selection
}

// Selection selects the images to import from a server.
type Selection struct {
	ID                        int
	OS, Release               string
	Arches, Subarches, Labels []string
}

// bootSources are the sources of a new MAAS (provisioningserver/config.py).
func bootSources() map[int]*BootSource {
	now := time.Now()
	return map[int]*BootSource{1: {
		ID: 1, URL: "http://images.maas.io/ephemeral-v3/stable/", KeyringFile: "/usr/share/keyrings/ubuntu-cloudimage-keyring.gpg",
		Created: now, Updated: now, Selections: map[int]*Selection{},
	}}
}

// Notification is a message to users.
type Notification struct {
	ID                       int
	Ident, Message, Category string
	User                     string // its only reader; "" if it is not for one user
	Users, Admins            bool
	Context                  map[string]any
	Dismissable              bool
	Dismissed                []string // users who dismissed it
}
