package sim_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"

	"github.com/canonical/lxd/shared/api"
)

// base64Of is data in the form for MAAS's forms and LXD's API.
func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// secondError is the error of a read with three results.
func secondError[T any](_ T, _ string, err error) error { return err }

// withKey is an instance's definition with one changed key.
func withKey(i *api.Instance, key, value string) api.InstancePut {
	put := i.Writable()
	put.Config = maps.Clone(put.Config)
	put.Config[key] = value
	return put
}

// operationOf is the operation in an event.
func operationOf(e api.Event) (op api.Operation, err error) {
	return op, json.Unmarshal(e.Metadata, &op)
}
