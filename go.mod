module github.com/maaslxd/maaslxd

go 1.26.0

require github.com/google/go-cmp v0.7.0

require (
	github.com/rogpeppe/go-internal v1.14.1
	golang.org/x/sys v0.26.0 // indirect
	golang.org/x/tools v0.26.0 // indirect
)
