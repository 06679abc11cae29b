// Other people's clients of MAAS, which run on the simulator: what they need is not
// to be a dependency of the product.
module github.com/maaslxd/maaslxd/acctest/maassim/clients

go 1.26.0

require (
	github.com/canonical/gomaasclient v0.20.0
	github.com/juju/gomaasapi/v2 v2.3.0
	github.com/spectrocloud/maas-client-go v1.0.0-beta1
)

require (
	github.com/google/go-querystring v1.2.0 // indirect
	github.com/google/uuid v1.2.0 // indirect
	github.com/juju/collections v1.0.4 // indirect
	github.com/juju/errors v1.0.0 // indirect
	github.com/juju/loggo v1.0.0 // indirect
	github.com/juju/mgo/v2 v2.0.2 // indirect
	github.com/juju/schema v1.0.1 // indirect
	github.com/juju/version v0.0.0-20210303051006-2015802527a8 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	gopkg.in/mgo.v2 v2.0.0-20190816093944-a6b53ec6cb22 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)
