package main

import "testing"

func TestUnreadLog(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		debug  bool
		env    map[string]string
		want   bool
	}{
		"Nothing":  {"Terraform shows no log.", false, nil, true},
		"Empty":    {"An empty level is no level.", false, map[string]string{"TF_LOG": ""}, true},
		"Core":     {"That is the log of Terraform itself.", false, map[string]string{"TF_LOG_CORE": "trace"}, true},
		"All":      {"The user wants to read it.", false, map[string]string{"TF_LOG": "trace"}, false},
		"Provider": {"The user wants to read it, and not Terraform's.", false, map[string]string{"TF_LOG_PROVIDER": "debug"}, false},
		"SDK":      {"The user's own level stays.", false, map[string]string{"TF_LOG_SDK": "warn"}, false},
		"Debug":    {"A terminal shows the log of a provider that Terraform did not start.", true, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := isSDKLogUnread(tc.debug, func(name string) (string, bool) { v, ok := tc.env[name]; return v, ok })
			if got != tc.want {
				t.Errorf("%s\ngot %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
