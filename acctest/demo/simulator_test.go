package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/maaslxd/maaslxd/acctest/executable"
)

func TestStartSimulator(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		script string // empty: the program is missing
		err    string
	}{
		"Up":       {"It prints its exports and stays.", `echo "export MAAS_API_URL=http://127.0.0.1:1/MAAS MAAS_API_KEY=a:b:c"; exec sleep 60`, ""},
		"BadWorld": {"What it says on standard error reaches the user.", `echo "no such field: hots" >&2; exit 1`, "no such field: hots"},
		"Other":    {"Another program of that name.", `echo hello; exec sleep 60`, `its first line is "hello"`},
		"NotBuilt": {"A missing program is built by make.", "", "run make build"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(t.TempDir(), "maassim")
			if tc.script != "" {
				if err := executable.WriteProgram(program, "#!/bin/sh\n"+tc.script+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			s, err := startSimulator(t.Context(), program, "world.json")
			wantError(t, tc.reason, err, tc.err)
			if err != nil {
				return
			}
			s.stop()
			if err := syscall.Kill(s.cmd.Process.Pid, 0); err == nil {
				t.Errorf("%s\nprocess %d is still there after stop", tc.reason, s.cmd.Process.Pid)
			}
		})
	}
}

func TestReadExports(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		line   string
		root   string
		err    string
	}{
		"Plain":  {"As maassim prints it.", "export MAAS_API_URL=http://127.0.0.1:4711/MAAS MAAS_API_KEY=a:b:c", "http://127.0.0.1:4711", ""},
		"Quoted": {"Quotes are the shell's.", `export MAAS_API_URL="http://127.0.0.1:4711/MAAS" MAAS_API_KEY='a:b:c'`, "http://127.0.0.1:4711", ""},
		"NoKey":  {"Without a key nothing can be done.", "export MAAS_API_URL=http://127.0.0.1:4711/MAAS", "", "lacks"},
		"Other":  {"Some other output.", "listening", "", "want export"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			exports, root, err := readExports(tc.line)
			wantError(t, tc.reason, err, tc.err)
			if root != tc.root {
				t.Errorf("%s\nroot is %q, want %q", tc.reason, root, tc.root)
			}
			want := []string{"MAAS_API_URL=http://127.0.0.1:4711/MAAS", "MAAS_API_KEY=a:b:c"}
			if diff := cmp.Diff(want, exports); tc.err == "" && diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadSimulator(t *testing.T) {
	t.Parallel()
	answers := map[string]string{
		"/_sim/instances": `[{"host":"node1","name":"vm-1","machine_id":"abc123","running":true,"more":1}]`,
		"/_sim/machines":  `[{"hostname":"node1","status_name":"Ready","hosted_hosts":"kvm-1","host":""}]`,
		"/_sim/lxd":       `[{"name":"node1"},{"name":"node2"}]`,
		"/_sim/journal":   `{"routes":[{"route":"GET machines/","calls":7,"failed":1}],"connections":3,"lxd":{"routes":[{"route":"GET 1.0","calls":2}]}}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(answers[r.URL.Path]))
	}))
	defer server.Close()
	s := &simulator{root: server.URL}
	instances, err := s.instances(t.Context())
	if diff := cmp.Diff([]instance{{Host: "node1", Name: "vm-1", MachineID: "abc123", Running: true}}, instances); err != nil || diff != "" {
		t.Errorf("instances: %v, -want +got:\n%s", err, diff)
	}
	machines, err := s.machines(t.Context())
	if diff := cmp.Diff([]machine{{Name: "node1", Status: "Ready", Hosted: "kvm-1"}}, machines); err != nil || diff != "" {
		t.Errorf("machines: %v, -want +got:\n%s", err, diff)
	}
	if n, err := s.countLXDs(t.Context()); n != 2 || err != nil {
		t.Errorf("got %d LXDs, %v, want 2", n, err)
	}
	calls, err := s.journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	if err := printCalls(&got, calls); err != nil {
		t.Fatal(err)
	}
	want := "CALLS  FAILED  ROUTE\n7      1       GET machines/\n7      1       total, over 3 connections\n2      0       of the LXDs themselves\n" +
		"A failed call may be normal. MAAS refuses to add a tag that it does not have, and the provider then makes the tag.\n"
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("journal: -want +got:\n%s", diff)
	}
}

func TestLookFails(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	_, err := (&simulator{root: server.URL}).instances(t.Context())
	wantError(t, "An answer that is no list proves nothing.", err, "404")
	wantError(t, "A run that made no call proves nothing.", printCalls(new(bytes.Buffer), calls{}), "journal lacks calls")
	wantError(t, "A run that never asked an LXD did not probe.",
		printCalls(new(bytes.Buffer), calls{Routes: []route{{Route: "GET machines/", Calls: 1}}}), "journal lacks calls")
}
