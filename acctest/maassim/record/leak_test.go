package record_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/maaslxd/maaslxd/acctest/maassim/record"
)

// hush is the secret of each case, hushNumber one that is a number, and hushWord
// one that looks like a word.
const (
	hush       = "Zq9sup3rs3cretZq9"
	hushNumber = "98761234987612"
	hushWord   = "Xyzzyhush"
)

// What a client sends.
const (
	urlencoded = "application/x-www-form-urlencoded"
	jsonKind   = "application/json"
	plainKind  = "text/plain"
)

// leak is an exchange that holds a secret.
type leak struct {
	method, path, kind, body string
	answerKind, answer       string
	answerLength             int // that is announced; 0: the true one
	status                   int // 200 if not given
	encoding                 string
	authorization            string
}

func post(path, kind, body string) leak {
	return leak{method: "POST", path: path, kind: kind, body: body}
}

func field(path, name, value string) leak {
	return post(path, urlencoded, url.Values{name: {value}}.Encode())
}

func answered(path, kind, body string) leak {
	return leak{method: "GET", path: path, answerKind: kind, answer: body}
}

func refused(status int, kind, body string) leak {
	return leak{method: "GET", path: "zones/", answerKind: kind, answer: body, status: status}
}

func part(header, body string) leak {
	return post("machines/", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; "+header+"\r\n\r\n"+body+"\r\n--x--\r\n")
}

// unreadBodies are bodies that no parser takes.
var unreadBodies = map[string]leak{
	"BadEscape":           post("machines/", urlencoded, "power_pass="+hush+"&x=%zz"),
	"BadEscapeInSecret":   post("machines/", urlencoded, "power_pass=%zz"+hush),
	"BadEscapeInName":     post("machines/", urlencoded, "power_pass%zz="+hush),
	"Semicolon":           post("machines/", urlencoded, "power_pass="+hush+";x=1"),
	"SemicolonBefore":     post("machines/", urlencoded, "x=1;power_pass="+hush),
	"NoContentType":       post("machines/", "", "power_pass="+hush),
	"BadContentType":      post("machines/", ";;", "power_pass="+hush),
	"SecretContentType":   post("machines/", "text/"+hush, "x"),
	"TextPlain":           post("machines/", plainKind, "power_pass="+hush),
	"TextWithoutKeys":     post("machines/", plainKind, "hello "+hush),
	"XML":                 post("machines/", "application/xml", "<power_pass>"+hush+"</power_pass>"),
	"YAML":                post("machines/", "application/x-yaml", "power_pass: "+hush),
	"BrokenJSON":          post("machines/", jsonKind, `{"power_pass":"`+hush+`"`),
	"TwoJSON":             post("machines/", jsonKind, `{} {"power_pass":"`+hush+`"}`),
	"JSONText":            post("machines/", jsonKind, `"`+hush+`"`),
	"JSONAsForm":          post("machines/", urlencoded, `{"power_pass":"`+hush+`"}`),
	"TextAsForm":          post("machines/", urlencoded, hush),
	"TextAsFormEquals":    post("machines/", urlencoded, "joe:"+hush+"="),
	"YAMLAsForm":          post("machines/", urlencoded, "power_pass: "+hush+"\nx: 1"),
	"FormAsJSON":          post("machines/", jsonKind, "power_pass="+hush),
	"FormAsMultipart":     post("machines/", "multipart/form-data; boundary=x", "power_pass="+hush),
	"BrokenMultipart":     post("machines/", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"power_pass\"\r\n\r\n"+hush+"\r\n"),
	"NoBoundary":          post("machines/", "multipart/form-data", "--x\r\nContent-Disposition: form-data; name=\"power_pass\"\r\n\r\n"+hush+"\r\n--x--\r\n"),
	"BrokenBase64Part":    part("name=\"power_pass\"\r\nContent-Transfer-Encoding: base64", "%%"+hush),
	"NamelessPart":        part("x=\"y\"", hush),
	"FilePart":            part("name=\"content\"; filename=\""+hush+"\"", "#!/bin/sh\n# "+hush),
	"PartInBase64":        part("name=\"power_pass\"\r\nContent-Transfer-Encoding: base64", base64.StdEncoding.EncodeToString([]byte(hush))),
	"EncodedBody":         {method: "POST", path: "machines/", kind: urlencoded, body: "power_pass=" + hush, encoding: "br"},
	"DoubleQuery":         {method: "GET", path: "machines/?power_pass=a;b=" + hush},
	"BrokenQuery":         {method: "GET", path: "machines/?power_pass=" + hush + "%zz"},
	"NamelessQuery":       {method: "GET", path: "machines/?" + hush},
	"Path":                {method: "GET", path: "users/" + hush + "/"},
	"UnknownPath":         {method: "GET", path: "files/" + hush + "/"},
	"UnknownOp":           {method: "GET", path: "machines/?op=" + hush},
	"OtherAPI":            post("../../accounts/login/", urlencoded, "username=joe&password="+hush),
	"OtherAPIAnswer":      answered("../../a/v3/auth/", jsonKind, `{"fine":"`+hush+`"}`),
	"OtherAPIAnswerPlain": answered("../../metadata/latest/", plainKind, hush),
}

// secretFields are fields that hold a secret in one form or another.
var secretFields = map[string]leak{
	"Password":           field("vm-hosts/", "password", hush),
	"PowerPass":          field("machines/", "power_pass", hush),
	"PowerParameter":     field("machines/", "power_parameters_power_pass", hush),
	"AnotherPassword":    field("machines/", "power_password2", hush),
	"Passwords":          field("machines/", "passwords", hush),
	"CamelPassword":      field("machines/", "userPassword", hush),
	"Passwd":             field("machines/", "root_passwd", hush),
	"Pin":                field("machines/", "bmc_pin", hush),
	"Community":          field("machines/", "snmp_community", hush),
	"Auth":               field("machines/", "power_auth", hush),
	"Webhook":            field("machines/", "webhook", hush),
	"APIKey":             field("vm-hosts/", "apiKey", hush),
	"APIKeys":            field("vm-hosts/", "api_keys", hush),
	"UnknownField":       field("machines/", "frobnicate", hush),
	"UnknownNumber":      field("machines/", "frobnicate", hushNumber),
	"RepositoryKey":      post("package-repositories/", urlencoded, "key="+hush+"&url=http://u:"+hush+"@x/"),
	"Macaroons":          field("machines/", "macaroons", `["a",{"i":"`+hush+`"}]`),
	"Credentials":        field("machines/", "credentials", `{"v":"`+hush+`"}`),
	"SecretInJSONInJSON": field("machines/", "power_parameters", `{"x":"{\"power_pass\":\"`+hush+`\"}"}`),
	"CertificateNoPEM":   field("vm-hosts/", "certificate", hush),
	"CertificateBase64":  field("vm-hosts/", "certificate", base64.StdEncoding.EncodeToString([]byte("0\x82"+hush+hush))),
	"KeyWithPEM":         field("vm-hosts/", "key", hush+"\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"),
	"KeyBehindPEM":       field("vm-hosts/", "password", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"+hush),
	"UnfinishedPEM":      field("machines/", "architecture", "-----BEGIN PRIVATE KEY-----\n"+hush),
	"UserDataWithPEM":    field("machines/a/?op=deploy", "user_data", "#cloud-config\npw: "+hush+"\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"),
	"UserDataJSON":       field("machines/a/?op=deploy", "user_data", `{"a":"`+hush+`"}`),
	"PythonParameters":   field("machines/", "power_parameters", "{'power_pass': '"+hush+"'}"),
	"BrokenParameters":   field("machines/", "power_parameters", `{"power_pass": "`+hush),
	"ParametersText":     field("machines/", "power_parameters", "power_pass="+hush),
	"KernelOpts":         field("tags/a/", "kernel_opts", "password="+hush),
	"KernelOptsWords":    field("tags/a/", "kernel_opts", "rd.luks "+hush),
	"Description":        field("machines/", "description", "the key is "+hush),
	"OwnerData":          field("machines/a/?op=set_owner_data", "who", hush),
	"OwnerDataJSON":      field("machines/a/?op=set_owner_data", "who", `{"mail":"`+hush+`"}`),
	"OwnerDataKey":       field("machines/a/?op=set_owner_data", hush, "x"),
	"Annotation":         field("machines/a/?op=set_workload_annotations", "password", hush),
	"Proxy":              field("maas/?op=set_config&name=http_proxy", "value", "http://joe:"+hush+"@x@proxy:3128/"),
	"ProxySlash":         field("maas/?op=set_config&name=http_proxy", "value", "http://joe:p/"+hush+"@proxy:3128/"),
	"ProxySpace":         field("maas/?op=set_config&name=http_proxy", "value", "http://joe:p "+hush+" @proxy:3128/"),
	"ProxyQuote":         field("maas/?op=set_config&name=http_proxy", "value", `http://joe:p"`+hush+`@proxy:3128/`),
	"ProxyHash":          field("maas/?op=set_config&name=http_proxy", "value", "http://joe:#?"+hush+"@proxy:3128/"),
	"ProxyNoHost":        field("maas/?op=set_config&name=http_proxy", "value", "http://joe:"+hush),
	"ProxyInForm":        post("maas/?op=set_config", urlencoded, "name=http_proxy&value=http%3A%2F%2Fjoe%3A"+hush+"%40x@proxy:3128%2F"),
	"UnknownSetting":     post("maas/?op=set_config", urlencoded, "name=frobnicate&value="+hush),
	"SecretSetting":      post("maas/?op=set_config", urlencoded, "name=rpc_shared_secret&value="+hush),
	"SettingInJSON":      post("maas/?op=set_config", jsonKind, `{"name":"rpc_shared_secret","value":"`+hush+`"}`),
	"SettingTwice":       post("maas/?op=set_config&name=omapi_key", urlencoded, "name=http_proxy&value="+hush),
	"URLQuery":           field("boot-sources/", "url", "https://mirror/x?sig="+hush),
	"URLPath":            field("boot-sources/", "url", "https://mirror/"+hush+"/x"),
	"OtherScheme":        field("machines/", "power_address", "qemu+ssh://joe:"+hush+"@host/system"),
	"SSHKey":             field("sshkeys/", "key", "ssh-ed25519 "+strings.Repeat("A", 30)+" "+hush),
	"SNMP":               field("settings/", "value", hush),
	"Content":            field("scripts/", "script", "#!/bin/sh\necho "+hush),
	"Hostname":           field("machines/", "hostname", "a/b:"+hush),
	"Storage":            field("machines/", "storage", hush+":8("+hush+")"),
	"Interfaces":         field("machines/", "interfaces", hush+":space="+hush),
	"AgentName":          field("machines/?op=allocate", "agent_name", hush),
	"SecretInQuery":      {method: "GET", path: "machines/?power_pass=" + hush},
	"ListOfSecrets":      post("machines/", urlencoded, "password=a&password="+hush),
	"JSONSecretNumber":   post("machines/", jsonKind, `{"power_pass":`+hushNumber+`}`),
	"JSONOwnerData":      post("machines/", jsonKind, `{"owner_data":{"a":{"b":["`+hush+`"]}}}`),
	"JSONKey":            post("machines/", jsonKind, `{"`+hush+`":1}`),
}

// answers are what a MAAS says.
var answers = map[string]leak{
	"Truncated":        {method: "GET", path: "machines/a/?op=power_parameters", answerKind: jsonKind, answer: `{"power_pass":"` + hush + `","k_g":"`, answerLength: 200},
	"TruncatedText":    {method: "GET", path: "version/", answerKind: plainKind, answer: "hello " + hush, answerLength: 200},
	"TruncatedWhole":   {method: "GET", path: "machines/", answerKind: jsonKind, answer: `{"frob":"` + hush + `"}`, answerLength: 900},
	"Number":           answered("machines/a/?op=power_parameters", jsonKind, `{"power_pass":`+hushNumber+`}`),
	"Object":           answered("machines/a/?op=power_parameters", jsonKind, `{"credentials":{"v":"`+hush+`"}}`),
	"List":             answered("machines/a/?op=power_parameters", jsonKind, `{"tokens":["`+hush+`",["`+hush+`"]]}`),
	"ObjectKey":        answered("machines/a/?op=power_parameters", jsonKind, `{"credentials":{"`+hush+`":1}}`),
	"NestedNumber":     answered("machines/a/?op=power_parameters", jsonKind, `{"token":{"v":[`+hushNumber+`]}}`),
	"UnknownField":     answered("machines/", jsonKind, `[{"frobnicate":"`+hush+`"}]`),
	"UnknownNumber":    answered("machines/", jsonKind, `[{"frobnicate":`+hushNumber+`}]`),
	"UnknownNested":    answered("machines/", jsonKind, `[{"frobnicate":{"url":["`+hush+`"]}}]`),
	"RootText":         answered("machines/", jsonKind, `"`+hush+`"`),
	"RootList":         answered("machines/", jsonKind, `["`+hush+`"]`),
	"KeyValue":         answered("machines/", jsonKind, `[{"key":"power_pass","value":"`+hush+`"}]`),
	"NameValue":        answered("dhcp-snippets/", jsonKind, `[{"name":"x","value":"secret `+hush+`"}]`),
	"JSONInText":       answered("machines/", jsonKind, `[{"parameters":"{\"power_pass\": \"`+hush+`\"}"}]`),
	"Signature":        refused(401, plainKind, "Authorization Error: 'Invalid signature. Expected signature base string: &"+hush+"'"),
	"SignatureHTML":    refused(401, "text/html; charset=utf-8", "Authorization Error: &#x27;Invalid signature. Expected signature base string: &amp;"+hush+"&#x27;"),
	"SignatureHMAC":    refused(401, plainKind, "Authorization Error: 'Invalid signature. Expected signature base string: GET&http%3A%2F%2Fx&oauth_token%3D"+hush+"'"),
	"Token":            refused(401, plainKind, "Authorization Error: 'Invalid access token: "+hush+"'"),
	"Details":          answered("machines/a/?op=details", "application/bson", "bin "+hush),
	"Octets":           answered("machines/a/", "application/octet-stream", hush),
	"NoKind":           answered("machines/a/", "", hush),
	"Curtin":           answered("machines/a/?op=get_curtin_config", plainKind, "late_commands:\n  x: [wget, --header, 'oauth_token="+hush+"']\n  password: "+hush+"\n token_secret: "+hush),
	"GetToken":         answered("machines/a/?op=get_token", jsonKind, `{"a":"`+hush+`"}`),
	"File":             answered("files/?op=get", plainKind, "hello "+hush),
	"Results":          answered("nodes/a/results/", jsonKind, `[{"output":"`+hush+`"}]`),
	"Script":           answered("scripts/a/?op=download", plainKind, "#!/bin/sh\ncurl -u joe:"+hush),
	"LongText":         answered("machines/a/", plainKind, strings.Repeat("word ", 1000)+hush),
	"LongRefusal":      refused(500, "text/html", "<html>"+strings.Repeat("word ", 1000)+"settings "+hush),
	"NewToken":         {method: "POST", path: "account/?op=create_authorisation_token", answerKind: jsonKind, answer: `{"token_key":"` + hush + `","token_secret":"` + hush + `","consumer_key":"` + hush + `","name":"n"}`},
	"Tokens":           answered("account/?op=list_authorisation_tokens", jsonKind, `[{"name":"a","token":"a:b:`+hush+`"}]`),
	"BrokenJSON":       answered("machines/", jsonKind, `{"power_pass":"`+hush+`"`),
	"JSONAndMore":      answered("machines/", jsonKind, `{}"`+hush+`"`),
	"PythonInText":     answered("machines/", plainKind, `{'power_pass': '`+hush+`'}`),
	"JSONAsText":       answered("machines/", plainKind, `{"power_pass":"`+hush+`"}`),
	"YAMLAsText":       refused(400, plainKind, "power_pass: |\n  "+hush),
	"Assignment":       refused(400, plainKind, "cannot log in: password = "+hush+" is wrong"),
	"QuotedAssignment": refused(400, plainKind, `{'x': 1}, power_pass='`+hush+` x'`),
	"EscapedQuotes":    refused(400, plainKind, `cannot read \"k_g\": \"`+hush+`\"`),
	"Option":           refused(400, plainKind, "ipmitool -U joe --password "+hush+" failed"),
	"Bearer":           refused(400, plainKind, "sent Authorization: Bearer "+hush),
	"BareBearer":       refused(400, plainKind, "sent bearer "+hush),
	"RandomWord":       refused(400, plainKind, "cannot log in as joe with "+hush+"."),
	"URLInText":        refused(400, plainKind, "cannot reach http://joe:"+hush+"@proxy/x"),
	"EmptyPassword":    refused(400, plainKind, "cannot reach https://"+hush+":@proxy/x"),
	"ErrorField":       refused(400, jsonKind, `{"power_pass":["`+hush+` is wrong"]}`),
	"ErrorUnknown":     refused(400, jsonKind, `{"frobnicate":["'`+hush+`' is wrong"]}`),
	"ErrorSetting":     refused(400, jsonKind, `{"error":"setting 'http_proxy' to 'http://joe:`+hush+`@x'"}`),
	"AuditEvent":       answered("events/?op=query", jsonKind, `{"events":[{"type":"Settings","description":"Updated configuration setting 'omapi_key' to '`+hush+`'."}]}`),
	"ProxySetting":     answered("maas/?op=get_config&name=http_proxy", jsonKind, `"http://joe:`+hush+`@x@y/"`),
	"SecretSetting":    answered("maas/?op=get_config&name=omapi_key", jsonKind, `"`+hush+`"`),
	"NumberSetting":    answered("maas/?op=get_config&name=omapi_key", jsonKind, hushNumber),
	"ObjectSetting":    answered("maas/?op=get_config&name=omapi_key", jsonKind, `{"a":["`+hush+`"]}`),
	"UnknownSetting":   answered("maas/?op=get_config&name=frobnicate", jsonKind, `"`+hush+`"`),
	"PlainSetting":     answered("maas/?op=get_config&name=omapi_key", plainKind, hush),
	"OwnerData":        answered("machines/", jsonKind, `[{"owner_data":{"password":"`+hush+`","a":{"b":"`+hush+`"}}}]`),
	"UserDataEcho":     answered("machines/", jsonKind, `[{"user_data":"`+hush+`"}]`),
	"Gzip":             {method: "GET", path: "machines/", answerKind: jsonKind, answer: zipped(`{"power_pass":"` + hush + `"`), encoding: "gzip"},
	"GzipTruncated":    {method: "GET", path: "machines/", answerKind: jsonKind, answer: zipped(`{"a":"` + hush + `"}`)[:20], encoding: "gzip"},
	"Brotli":           {method: "GET", path: "machines/", answerKind: plainKind, answer: "x " + hush, encoding: "br"},
	"EchoOfRequest":    {method: "POST", path: "machines/", kind: urlencoded, body: "power_pass=p-" + hush, answerKind: plainKind, answer: "p-" + hush + " is no password", status: 400},
	"EchoEscaped":      {method: "POST", path: "machines/", kind: urlencoded, body: "power_pass=" + url.QueryEscape("<"+hush+"'"), answerKind: "text/html", answer: "&lt;" + hush + "&#39; is no password", status: 400},
	"EchoInBase64":     {method: "POST", path: "machines/", kind: urlencoded, body: "power_pass=short", answerKind: plainKind, answer: "got " + base64.StdEncoding.EncodeToString([]byte("short")), status: 400},
	"EchoOfKey":        {method: "GET", path: "machines/", authorization: `OAuth oauth_consumer_key="c-` + hush + `", oauth_token="a", oauth_signature="%26b"`, answerKind: plainKind, answer: "c-" + hush + " is nobody", status: 401},
	"EchoOfBearer":     {method: "GET", path: "machines/", authorization: "Bearer " + hush, answerKind: plainKind, answer: hush + " is nobody", status: 401},
}

func zipped(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	_ = z.Close()
	return b.String()
}

// undecided are cases in which nothing tells a secret that looks like a word from
// MAAS's own words, or from names of fields.
var undecided = []string{"Answers/RandomWord", "Answers/ErrorUnknown", "Fields/OwnerDataKey", "Fields/JSONKey", "Unread/UnknownOp"}

// with is the same exchange with another secret.
func (l leak) with(secret string) leak {
	for _, text := range []*string{&l.path, &l.kind, &l.body, &l.answer, &l.authorization} {
		*text = strings.ReplaceAll(*text, hush, secret)
	}
	return l
}

// TestLeaks checks that no secret gets into a recording, in whatever form it comes:
// what the recorder does not understand is left out.
func TestLeaks(t *testing.T) {
	t.Parallel()
	for group, cases := range map[string]map[string]leak{"Unread": unreadBodies, "Fields": secretFields, "Answers": answers} {
		for name, l := range cases {
			t.Run(group+"/"+name, func(t *testing.T) {
				t.Parallel()
				checkHushed(t, l)
				if !slices.Contains(undecided, group+"/"+name) {
					checkHushed(t, l.with(hushWord))
				}
			})
		}
	}
}

// checkHushed records an exchange and looks for its secret.
func checkHushed(t *testing.T, l leak) {
	t.Helper()
	dir := l.record(t)
	for _, path := range filesIn(t, dir) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{hush, hushNumber, hushWord, "c3VwM3JzM2NyZX", base64.StdEncoding.EncodeToString([]byte(hush)), "c2hvcnQ="} {
			if at := strings.Index(path+string(content), secret); at >= 0 {
				t.Errorf("it tells %s:\n%s", secret, content)
			}
		}
	}
}

func filesIn(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("want one exchange, got %v %v", paths, err)
	}
	return paths
}

// record sends the exchange through a recorder, and gives its folder.
func (l leak) record(t *testing.T) (dir string) {
	t.Helper()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header()["Content-Type"] = []string{l.answerKind}
		if l.answerLength > 0 {
			w.Header().Set("Content-Length", fmt.Sprint(l.answerLength))
		}
		if l.encoding != "" && l.body == "" {
			w.Header().Set("Content-Encoding", l.encoding)
		}
		w.WriteHeader(max(l.status, http.StatusOK))
		fmt.Fprint(w, l.answer)
	}))
	defer upstream.Close()
	dir = t.TempDir()
	transport := &http.Transport{DisableCompression: true}
	defer transport.CloseIdleConnections()
	proxy, err := record.New(upstream.URL+"/MAAS", dir, transport, func(err error) { t.Error(err) })
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(proxy)
	defer server.Close()
	l.send(t, server.URL)
	if err := proxy.Finish(); err != nil {
		t.Error(err)
	}
	return dir
}

func (l leak) send(t *testing.T, server string) {
	t.Helper()
	target, err := url.Parse(server + "/MAAS/api/2.0/")
	if err != nil {
		t.Fatal(err)
	}
	path, query, _ := strings.Cut(l.path, "?")
	target = target.JoinPath(path)
	target.RawQuery = query
	r := request(t, l.method, target.String(), l.kind, strings.NewReader(l.body))
	r.Header.Set("Authorization", `OAuth oauth_version="1.0", oauth_signature_method="PLAINTEXT", oauth_consumer_key="ck", oauth_token="tk", oauth_signature="%26wrong", oauth_nonce="1", oauth_timestamp="1"`)
	if l.authorization != "" {
		r.Header.Set("Authorization", l.authorization)
	}
	if l.encoding != "" && l.body != "" {
		r.Header.Set("Content-Encoding", l.encoding)
	}
	response, err := ownClient(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(response.Body) // an answer may break off
	_ = response.Body.Close()
}
