package record_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/maaslxd/maaslxd/acctest/maassim/record"
	"github.com/maaslxd/maaslxd/acctest/maassim/recording"
	"github.com/maaslxd/maaslxd/acctest/maassim/replay"
	"github.com/maaslxd/maaslxd/acctest/maassim/sim"
)

// site is a simulator behind a recorder, with a VM host and a VM.
type site struct {
	client
	sim               *sim.Sim
	host, vm, machine string
	elsewhere         client // a client that does not use the recorder
}

// mustSucceed ends the test where a change behind the client's back fails.
func (s *site) mustSucceed(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// waitForTransitions waits until all transitions have ended.
func (s *site) waitForTransitions() { time.Sleep(3 * time.Second) }

func (s *site) registerAndCompose() {
	made := s.call("POST", "vm-hosts/", url.Values{"type": {"lxd"}, "power_address": {"https://10.99.1.5:8443"}, "password": {"sesame-open"}, "name": {"kvm"}})
	s.host = fmt.Sprintf("vm-hosts/%v/", made["id"])
	s.waitForTransitions()
	s.call("GET", s.host, nil)
	s.compose("vm1")
}

func (s *site) compose(name string) {
	made := s.call("POST", s.host+"?op=compose", url.Values{"hostname": {name}, "cores": {"1"}, "memory": {"1024"}, "skip_commissioning": {"true"}})
	s.vm, s.machine = fmt.Sprint(made["system_id"]), fmt.Sprintf("machines/%v/", made["system_id"])
	s.call("GET", s.machine, nil)
}

func (s *site) deploy() {
	s.call("POST", "machines/?op=allocate", url.Values{"system_id": {s.vm}})
	s.call("POST", s.machine+"?op=deploy", url.Values{"distro_series": {"jammy"}})
	s.waitForTransitions()
	s.mustSucceed(s.sim.FinishMachine(s.vm))
	s.call("GET", s.machine, nil)
}

// TestUnrecordedChangesAreInferred records stories with changes that are not recorded. The replay must infer
// them and reproduce all answers.
func TestUnrecordedChangesAreInferred(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		play   func(s *site)
		want   string // a part of the replay's inferences
	}{
		"DeploymentEnded": {"the next answer shows it", func(s *site) { s.deploy() }, "Deploying ended on"},
		"DeploymentFailed": {"with MAAS's words for it", func(s *site) {
			s.call("POST", "machines/?op=allocate", url.Values{"system_id": {s.vm}})
			s.call("POST", s.machine+"?op=deploy", url.Values{"distro_series": {"jammy"}})
			s.waitForTransitions()
			s.mustSucceed(s.sim.FailMachine(s.vm, "no disk"))
			s.call("GET", s.machine, nil)
		}, "Deploying failed on"},
		"TurnedOff": {"MAAS showed it on, and LXD says off", func(s *site) {
			s.deploy()
			s.mustSucceed(s.sim.SetInstanceRunning("lxd", "default", "vm1", false))
			s.call("GET", s.machine+"?op=query_power_state", nil)
		}, "somebody switched the instance of"},
		"InstanceDeleted": {"a refresh forgets the machine", func(s *site) {
			s.mustSucceed(s.sim.RemoveInstance("lxd", "default", "vm1"))
			s.call("POST", s.host+"?op=refresh", nil)
			s.waitForTransitions()
			s.call("GET", s.machine, nil)
		}, "somebody deleted the instance of"},
		"InstanceMade": {"a refresh adopts it", func(s *site) {
			s.mustSucceed(s.sim.AddInstance(sim.Instance{Host: "lxd", Project: "default", Name: "foreign", Cores: 1, MemoryMiB: 1024, DiskBytes: 5e9}))
			s.call("POST", s.host+"?op=refresh", nil)
			s.waitForTransitions()
			s.call("GET", "machines/?hostname=foreign", nil)
		}, "somebody made the instance"},
		"RackAway": {"and back", func(s *site) {
			s.mustSucceed(s.sim.SetRackCondition(sim.ConditionUnreachable))
			s.call("POST", s.host+"?op=refresh", nil)
			s.mustSucceed(s.sim.SetRackCondition(sim.ConditionOK))
			s.call("POST", s.host+"?op=refresh", nil)
		}, "the rack controller was unreachable"},
		"LXDAway": {"and back", func(s *site) {
			s.mustSucceed(s.sim.SetLXDCondition("lxd", sim.ConditionUnreachable))
			s.call("POST", s.host+"?op=refresh", nil)
			s.mustSucceed(s.sim.SetLXDCondition("lxd", sim.ConditionOK))
			s.call("POST", s.host+"?op=refresh", nil)
		}, "the LXD was unreachable"},
		"ScriptsAborted": {"the machine failed by itself", func(s *site) {
			s.call("POST", s.machine+"?op=commission", nil)
			s.waitForTransitions()
			s.mustSucceed(s.sim.FailWithoutScript(s.vm))
			s.call("GET", s.machine, nil)
		}, "reported a failure, and none of its scripts failed"},
		"MachineDeletedByOther": {"MAAS has it no more", func(s *site) {
			s.elsewhere.call("DELETE", s.machine, nil)
			s.call("GET", s.machine, nil)
		}, "somebody deleted machines"},
		"NameFreed": {"a zone can be made once more, with another id", func(s *site) {
			s.call("POST", "zones/", url.Values{"name": {"rack-b"}})
			s.elsewhere.call("DELETE", "zones/rack-b/", nil)
			s.elsewhere.call("POST", "zones/", url.Values{"name": {"other"}})
			s.elsewhere.call("DELETE", "zones/other/", nil)
			s.call("POST", "zones/", url.Values{"name": {"rack-b"}})
			s.call("PUT", s.machine, url.Values{"zone": {"rack-b"}})
		}, "somebody deleted zones"},
		"NameTaken": {"a zone of that name is there", func(s *site) {
			s.elsewhere.call("POST", "zones/", url.Values{"name": {"rack-b"}})
			s.call("POST", "zones/", url.Values{"name": {"rack-b"}})
		}, "somebody made zones"},
		"OrderOfFields": {"MAAS repeats the fields as they were sent", func(s *site) {
			s.post("machines/?op=allocate", "name=nosuchname&arch=amd64&mem=9999999&cpu_count=99")
		}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := recordAndReplay(t, tc.play)
			if all := strings.Join(o.Inferences, "\n"); !strings.Contains(all, tc.want) {
				t.Errorf("%s: nothing like %q was inferred:\n%s", tc.reason, tc.want, all)
			}
			for _, c := range o.Comparisons {
				for _, p := range c.Problems {
					t.Errorf("%s: %s: %s", tc.reason, c.Exchange, p)
				}
			}
		})
	}
}

// TestLaterStoryReplays replays a recording that begins when the VM host and its VM
// already exist.
func TestLaterStoryReplays(t *testing.T) {
	t.Parallel()
	o := recordAndReplay(t, func(s *site) {
		s.call("GET", "vm-hosts/", nil)
		s.call("GET", s.machine, nil)
		s.compose("vm2")
	}, "begin in the middle")
	for _, c := range o.Comparisons {
		for _, p := range c.FirstProblems {
			if !strings.Contains(p.At, "storage") && !strings.Contains(p.At, "used_") {
				t.Errorf("%s: %s", c.Exchange, p)
			}
		}
	}
}

// recordAndReplay records a story, or only its part after the beginning, and replays the
// recording.
func recordAndReplay(t *testing.T, play func(*site), late ...string) (o replay.Outcome) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := sim.New(siteModel(t))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		proxy, err := record.New("http://maas.acme.test/MAAS", dir, s.RoundTripper(), func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		unrecorded, err := record.New("http://maas.acme.test/MAAS", t.TempDir(), s.RoundTripper(), func(err error) { t.Error(err) })
		if err != nil {
			t.Fatal(err)
		}
		story := &site{client: client{t, proxy, s.APIKey()}, sim: s, elsewhere: client{t, unrecorded, s.APIKey()}}
		if len(late) > 0 {
			story.proxy = unrecorded
		}
		story.registerAndCompose()
		story.proxy = proxy
		play(story)
	})
	stories, err := recording.LoadStories(dir)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		if o, err = replay.PlayStory(stories[0], nil); err != nil {
			t.Fatal(err)
		}
	})
	return o
}
