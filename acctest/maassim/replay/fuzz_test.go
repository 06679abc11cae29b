package replay

import (
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// FuzzPlay checks that any recording is either replayed or refused with a message.
func FuzzPlay(f *testing.F) {
	for _, seed := range []string{
		`{"name": "v", "request": {"method": "GET", "path": "/MAAS/api/2.0/machines/abcdef/", "query": {"op": ["a", null]}, "form": {}, "authenticated": true}, "response": {"status": 200, "body_is_json": true, "body": {"system_id": "abcdef", "status_name": "Ready", "pod": {"id": 3, "name": "x"}, "power_state": "on"}}}`,
		`{"name": "v", "request": {"method": "POST", "path": "/MAAS/api/2.0/vm-hosts/", "form": {"type": "lxd", "name": 7}}, "response": {"status": 200, "body_is_json": true, "body": {"id": 9, "name": "h", "total": {"cores": -1}, "host": {"system_id": null}, "storage_pools": [null, {}]}}}`,
		`{"name": "v", "request": {"method": "GET", "path": "/MAAS/api/2.0/zones/", "form": "text"}, "response": {"status": 200, "body_is_json": true, "body": [{"id": 99999, "name": "far"}, {"zone": {"id": -4, "name": "x"}}, 3]}}`,
		`{"name": "v", "request": {"method": "PUT", "path": "/MAAS/api/2.0/nodes/a/interfaces/b/", "form": null, "content_type": "multipart/form-data"}, "response": {"status": 503, "body": "any rack controller"}}`,
		`{"name": "v", "request": {"method": "POST", "path": "/", "form": {"power_type": "lxd", "power_parameters": "{\"instance_name\": \"a b\"}"}}, "response": {"status": 200, "body_is_json": true, "body": "{"}}`,
	} {
		f.Add([]byte(seed), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var story recording.Story
		for n, content := range [][]byte{first, second} {
			e, err := recording.ParseExchange("1-x.json", content)
			if err != nil {
				return
			}
			e.Number = n
			story.Exchanges = append(story.Exchanges, e)
		}
		synctest.Test(t, func(t *testing.T) {
			if o, err := playWithHooks(story, nil, hooks{}); err == nil && len(o.Comparisons) != 2 {
				t.Errorf("%d of 2 exchanges were compared", len(o.Comparisons))
			}
		})
	})
}
