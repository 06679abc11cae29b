// Package manager is the manager of capi-bridge. It assembles the controllers,
// the identities and the engine and runs them, with the flags that all managers
// of Cluster API have.
package manager
