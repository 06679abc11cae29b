// Package manager is the manager of capi-bridge: it puts the controllers, the
// identities and the engine together and runs them, with the flags that managers
// of Cluster API have.
package manager
