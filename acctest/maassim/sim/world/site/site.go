// Package site is what MAAS keeps beside machines, networks and images: keys of
// users, settings, and the small things that an operator makes.
package site

// Site is all of it. A map's key is the id.
type Site struct {
	SSHKeys map[int]*Key
	SSLKeys map[int]*Key

	Settings map[string]any    // those that were set
	Archives map[string]string // the URLs of main_archive and ports_archive that were set
}

// New is a site right after the installation.
func New() *Site {
	return &Site{SSHKeys: map[int]*Key{}, SSLKeys: map[int]*Key{}, Settings: map[string]any{}, Archives: map[string]string{}}
}

// Key is a key or a certificate of a user.
type Key struct {
	ID   int
	User string
	Text string
}
