package cloudinit_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/cloudinit"
)

const canary = "hunter2secret"

// TestErrorsHoldNoUserData breaks user-data in each way that a reader reports, always at a
// secret. No error and no warning repeats the secret.
func TestErrorsHoldNoUserData(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, data, says string }{
		"Scalar":          {"The reader quotes a text that is no map.", "#cloud-config\nhunter2secret\n", "line 2"},
		"ScalarQuoted":    {"Also a quoted one.", "#cloud-config\n'hunter2secret'\n", "line 2"},
		"List":            {"A list is no map.", "#cloud-config\n- hunter2secret\n", "line 2"},
		"Anchor":          {"The reader quotes an anchor.", "#cloud-config\na: *hunter2secret\n", "YAML"},
		"AnchorItself":    {"And one in itself.", "#cloud-config\na: &hunter2secret [*hunter2secret]\n", "YAML"},
		"Tab":             {"A tab indents nothing.", "#cloud-config\na:\n\tb: hunter2secret\n", "line"},
		"TypeTag":         {"The reader quotes what is not of its tag.", "#cloud-config\na: !!int hunter2secret\n", "YAML"},
		"FloatTag":        {"Another tag.", "#cloud-config\na: !!float hunter2secret\n", "YAML"},
		"Directive":       {"An unknown directive.", "#cloud-config\n%hunter2secret x\n---\na: b\n", "YAML"},
		"TagHandle":       {"A tag of no handle.", "#cloud-config\na: !hunter2secret!x b\n", "YAML"},
		"MergeKey":        {"A merge of what is no map.", "#cloud-config\n<<: hunter2secret\n", "YAML"},
		"Unclosed":        {"A list without its end.", "#cloud-config\na: [hunter2secret\n", "YAML"},
		"Unquoted":        {"A text without its end.", "#cloud-config\na: \"hunter2secret\n", "YAML"},
		"Escape":          {"An escape that is none.", "#cloud-config\na: \"hunter2secret\\q\"\n", "line 2"},
		"Colons":          {"A map in a line.", "#cloud-config\npassword: hunter2secret: x\n", "line 2"},
		"KeyTwice":        {"The key of two documents is no word of cloud-init.", "#cloud-config\nhunter2secret: 2\n", "replace"},
		"JinjaKey":        {"The same in a template.", "## template: jinja\n#cloud-config\nhunter2secret: {{ x\n", "replace"},
		"JinjaLXD":        {"A template with an lxd: section.", "## template: jinja\n#cloud-config\nlxd: hunter2secret {{\n", "lxd:"},
		"Archive":         {"An archive that is a text.", "#cloud-config-archive\nhunter2secret\n", "line 2"},
		"ArchiveAnchor":   {"An unknown anchor in an archive.", "#cloud-config-archive\n- *hunter2secret\n", "YAML"},
		"ArchiveEntry":    {"An entry that is no cloud-config.", "#cloud-config-archive\n- 'a: b'\n- {type: text/cloud-config, content: hunter2secret}\n", "entry 2"},
		"ArchiveArchive":  {"An archive in one.", "#cloud-config-archive\n- \"#cloud-config-archive\\n- hunter2secret\"\n", "archive"},
		"Header":          {"The reader quotes a line of the header.", "MIME-Version: 1.0\npassword hunter2secret\n\nx\n", "header"},
		"HeaderFirst":     {"Also the first.", " hunter2secret\nMIME-Version: 1.0\n\nx\n", "header"},
		"ContentType":     {"A type that cannot be read.", "MIME-Version: 1.0\nContent-Type: hunter2secret; hunter2secret\n\nx\n", "Content-Type"},
		"Type":            {"A type that nobody knows.", "MIME-Version: 1.0\nContent-Type: text/hunter2secret\n\nx\n", "type"},
		"Encoding":        {"An encoding that nobody knows.", "MIME-Version: 1.0\nContent-Transfer-Encoding: hunter2secret\n\nx\n", "Content-Transfer-Encoding"},
		"Base64Part":      {"Base64 that is none.", "MIME-Version: 1.0\nContent-Transfer-Encoding: base64\n\nhunter2secret!!!\n", "base64 is damaged"},
		"QuotedPrintable": {"A byte that has to be escaped.", "MIME-Version: 1.0\nContent-Transfer-Encoding: quoted-printable\n\nhunter2secret\x01\n", "Content-Transfer-Encoding"},
		"Boundary":        {"A boundary that never comes.", "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=hunter2secret\n\nx\n", "multi-part"},
		"PartHeader":      {"The header of a part.", multipartOf("password hunter2secret\n\nx"), "multi-part"},
		"PartNext":        {"What follows a boundary.", multipartOf("\nx\n--A hunter2secret\n"), "part"},
		"PartYAML":        {"YAML in a part.", multipartOf("Content-Type: text/cloud-config\n\nhunter2secret"), "line 1"},
		"PartGzip":        {"A part that is not compressed as it says.", multipartOf("Content-Type: application/gzip\n\n\x1f\x8bhunter2secret"), "gzip"},
		"LongName":        {"A name too long to be one.", multipartOf("Content-Disposition: attachment; filename=\"" + strings.Repeat(canary, 6) + "\"\n\nx"), "part 1"},
		"OddName":         {"A name that is a sentence.", multipartOf("Content-Disposition: attachment; filename=\"the password is hunter2secret\"\n\nx"), "part 1"},
		"Gzip":            {"Damaged.", "\x1f\x8bhunter2secret", "gzip"},
		"GzipName":        {"The name in the header, then damage.", "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x03hunter2secret\x00hunter2secret", "gzip"},
		"Base64":          {"Encoded already.", base64.StdEncoding.EncodeToString([]byte("#cloud-config\na: hunter2secret\n")), "base64"},
		"Ignition":        {"Not cloud-init's.", `{"ignition": {"hunter2secret": 1}}`, "Ignition"},
		"JSON":            {"Without its first line.", `{"password": "hunter2secret"}`, "JSON"},
		"Text":            {"Nothing that is known.", "hunter2secret\n", "ignore"},
		"Latin1":          {"Not UTF-8.", "#!/bin/sh\nhunter2secret\xe9\n", "UTF-8"},
		"Include":         {"Its address may carry a token.", "#include\nhttps://example.com/?token=hunter2secret\n", "includes"},
		"Patch":           {"A patch.", "#cloud-config-jsonp\n[hunter2secret]\n", "patch"},
		"Vendored":        {"A key of MAAS's.", "#cloud-config\nruncmd: [hunter2secret]\n", "runcmd"},
	}
	other := []byte("#cloud-config\nhunter2secret: 1\nlxd: {}\n")
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := strings.Join(cloudinit.Warnings([]byte(tc.data)), "\n")
			if _, err := cloudinit.Merge(other, []byte(tc.data)); err != nil {
				said += fmt.Sprintf("%v %+v %#v", err, err, err)
			}
			if _, err := (withTestCertificate(t, cloudinit.Host{Now: testTime, Extra: [][]byte{[]byte(tc.data)}})).Render(); err != nil {
				said += fmt.Sprintf("%v %+v %#v", err, err, err)
			}
			if bytes.Contains(bytes.ToLower([]byte(said)), []byte(canary)) {
				t.Errorf("%s\nuser-data is repeated: %s", tc.reason, said)
			}
			if !strings.Contains(said, tc.says) {
				t.Errorf("%s\ngot %q, want it to name %q", tc.reason, said, tc.says)
			}
		})
	}
}

// multipartOf returns a MIME multi-part with one part, including its header.
func multipartOf(text string) string {
	return "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=A\n\n--A\n" + text + "\n--A--\n"
}
