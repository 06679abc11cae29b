module github.com/maaslxd/maaslxd

go 1.26.0
