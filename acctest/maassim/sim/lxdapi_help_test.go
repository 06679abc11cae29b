package sim_test

import (
	"encoding/base64"
	"encoding/json"
	"maps"

	"github.com/canonical/lxd/shared/api"
)

// base64Of is the text that forms and LXD's API want.
func base64Of(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// secondError is the error of a read.
func secondError[T any](_ T, _ string, err error) error { return err }

// withKey is an instance's definition with one key changed.
func withKey(i *api.Instance, key, value string) api.InstancePut {
	put := i.Writable()
	put.Config = maps.Clone(put.Config)
	put.Config[key] = value
	return put
}

// operationOf is the operation that an event tells of.
func operationOf(e api.Event) (op api.Operation, err error) {
	return op, json.Unmarshal(e.Metadata, &op)
}
