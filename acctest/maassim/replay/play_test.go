package replay

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
)

// storyOf is a story made from the exchanges in some files.
func storyOf(t *testing.T, files ...string) (s recording.Story) {
	t.Helper()
	s.Name = "story"
	for i, content := range files {
		e, err := recording.ParseExchange(fmt.Sprintf("%03d-x.json", i+1), []byte(content))
		if err != nil {
			t.Fatal(err)
		}
		s.Exchanges = append(s.Exchanges, e)
	}
	return s
}

// replayFiles replays files as the command does.
func replayFiles(t *testing.T, files ...string) (o Outcome) {
	t.Helper()
	s := storyOf(t, files...)
	synctest.Test(t, func(t *testing.T) {
		var err error
		if o, err = PlayStory(s, nil); err != nil {
			t.Fatal(err)
		}
	})
	return o
}

// TestNamesTellNothing checks that the replay depends on an exchange's content only, and
// not on its name.
func TestNamesTellNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"oauth-invalid-token", "oauth-expired-timestamp", "oauth-bearer-header", "accept-xml", "x-nonadmin", "nonadmin-vmhost-list", "untrusted-cert", "plain"} {
		o := replayFiles(t, `{"name": "`+name+`", "request": {"method": "POST", "path": "/MAAS/api/2.0/zones/", "form": {"name": "z"}, "authenticated": true},
			"response": {"status": 200, "headers": {"Content-Type": "application/json; charset=utf-8"}, "body_is_json": true, "body": {"name": "z", "description": "", "id": 2, "resource_uri": "/MAAS/api/2.0/zones/z/"}}}`)
		for _, p := range o.Comparisons[0].Problems {
			t.Errorf("%s: %s", name, p)
		}
	}
}

// zoneCreation is a request that makes a zone, with the description in MAAS's answer.
func zoneCreation(description string) string {
	return `{"name": "x", "request": {"method": "POST", "path": "/MAAS/api/2.0/zones/", "form": {"name": "z"}, "authenticated": true},
		"response": {"status": 200, "headers": {"Content-Type": "application/json; charset=utf-8"}, "body_is_json": true,
		"body": {"name": "z", "description": "` + description + `", "id": 2, "resource_uri": "/MAAS/api/2.0/zones/z/"}}}`
}

func answeredBy(path, answer string) string {
	return `{"name": "x", "request": {"method": "GET", "path": "/MAAS/api/2.0/` + path + `", "form": {}, "authenticated": true},
		"response": {"status": 200, "headers": {"Content-Type": "application/json; charset=utf-8"}, "body_is_json": true, "body": ` + answer + `}}`
}

// TestDifferencesByInference checks which differences rest on an inference.
func TestDifferencesByInference(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason      string
		files       []string
		first, sure int
	}{
		"Whole":      {"nothing differs", []string{zoneCreation("")}, 0, 0},
		"Made":       {"the recording shows how the zone was made", []string{zoneCreation("ours")}, 1, 1},
		"Default":    {"each MAAS has it", []string{answeredBy("zones/default/", `{"name": "default", "description": "ours", "id": 1, "resource_uri": "/MAAS/api/2.0/zones/default/"}`)}, 1, 1},
		"Before":     {"nobody knows what the machine was", []string{answeredBy("machines/abcdef/", `{"system_id": "abcdef", "status_name": "Ready", "hostname": "x", "resource_uri": "/MAAS/api/2.0/machines/abcdef/"}`)}, 1, 0},
		"ListBefore": {"nor what else there was", []string{answeredBy("machines/", `[{"system_id": "abcdef", "status_name": "Ready", "hostname": "x", "resource_uri": "/MAAS/api/2.0/machines/abcdef/"}]`), answeredBy("machines/?", `[]`)}, 1, 0},
		"NotServed":  {"the simulator says so", []string{answeredBy("machines/abcdef/?op=get_curtin_config", `{}`)}, 1, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := replayFiles(t, tc.files...)
			var all Tally
			all.Add(o)
			if all.FirstHand != tc.first || all.Certain != tc.sure {
				t.Errorf("%s: got %d first-hand, %d of them sure, want %d and %d: %v", tc.reason, all.FirstHand, all.Certain, tc.first, tc.sure, o.Comparisons)
			}
		})
	}
}

// TestLeftOut: a request without its body is not sent, only the status of an answer
// without a body is compared, and placeholders are not compared.
func TestLeftOut(t *testing.T) {
	t.Parallel()
	unsent := strings.Replace(zoneCreation(""), `"authenticated"`, `"left_out": true, "authenticated"`, 1)
	unread := strings.Replace(answeredBy("version/", `""`), `"body_is_json": true`, `"left_out": true, "body_is_json": false`, 1)
	refused := `{"name": "x", "request": {"method": "GET", "path": "/MAAS/api/2.0/zones/absent/", "authenticated": true},
		"response": {"status": 404, "headers": {"Content-Type": "text/plain"}, "body": "No <RANDOM 2> matches <SECRET>"}}`
	var all Tally
	all.Add(replayFiles(t, unsent, unread, answeredBy("version/", `{"version": "<SECRET>", "subversion": "", "capabilities": "<SECRET 2>"}`), refused))
	if all.LeftOut != 1 || all.Total != 3 || all.Reproduced != 3 {
		t.Errorf("got %+v", all)
	}
}
