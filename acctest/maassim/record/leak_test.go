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

// secretText is the secret of each case, secretNumber one that is a number, and secretWord
// one that looks like a word.
const (
	secretText   = "Zq9sup3rs3cretZq9"
	secretNumber = "98761234987612"
	secretWord   = "Xyzzyhush"
)

// Content types of a client's requests.
const (
	urlencoded = "application/x-www-form-urlencoded"
	jsonKind   = "application/json"
	plainKind  = "text/plain"
)

// leak is an exchange that holds a secret.
type leak struct {
	method, path, kind, body string
	answerKind, answer       string
	answerLength             int // announced length; 0: the true one
	status                   int // 200 by default
	encoding                 string
	authorization            string
}

func postLeak(path, kind, body string) leak {
	return leak{method: "POST", path: path, kind: kind, body: body}
}

func fieldLeak(path, name, value string) leak {
	return postLeak(path, urlencoded, url.Values{name: {value}}.Encode())
}

func answerLeak(path, kind, body string) leak {
	return leak{method: "GET", path: path, answerKind: kind, answer: body}
}

func refusalLeak(status int, kind, body string) leak {
	return leak{method: "GET", path: "zones/", answerKind: kind, answer: body, status: status}
}

func partLeak(header, body string) leak {
	return postLeak("machines/", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; "+header+"\r\n\r\n"+body+"\r\n--x--\r\n")
}

// unparsableBodies are bodies that no parser accepts.
var unparsableBodies = map[string]leak{
	"BadEscape":           postLeak("machines/", urlencoded, "power_pass="+secretText+"&x=%zz"),
	"BadEscapeInSecret":   postLeak("machines/", urlencoded, "power_pass=%zz"+secretText),
	"BadEscapeInName":     postLeak("machines/", urlencoded, "power_pass%zz="+secretText),
	"Semicolon":           postLeak("machines/", urlencoded, "power_pass="+secretText+";x=1"),
	"SemicolonBefore":     postLeak("machines/", urlencoded, "x=1;power_pass="+secretText),
	"NoContentType":       postLeak("machines/", "", "power_pass="+secretText),
	"BadContentType":      postLeak("machines/", ";;", "power_pass="+secretText),
	"SecretContentType":   postLeak("machines/", "text/"+secretText, "x"),
	"TextPlain":           postLeak("machines/", plainKind, "power_pass="+secretText),
	"TextWithoutKeys":     postLeak("machines/", plainKind, "hello "+secretText),
	"XML":                 postLeak("machines/", "application/xml", "<power_pass>"+secretText+"</power_pass>"),
	"YAML":                postLeak("machines/", "application/x-yaml", "power_pass: "+secretText),
	"BrokenJSON":          postLeak("machines/", jsonKind, `{"power_pass":"`+secretText+`"`),
	"TwoJSON":             postLeak("machines/", jsonKind, `{} {"power_pass":"`+secretText+`"}`),
	"JSONText":            postLeak("machines/", jsonKind, `"`+secretText+`"`),
	"JSONAsForm":          postLeak("machines/", urlencoded, `{"power_pass":"`+secretText+`"}`),
	"TextAsForm":          postLeak("machines/", urlencoded, secretText),
	"TextAsFormEquals":    postLeak("machines/", urlencoded, "joe:"+secretText+"="),
	"YAMLAsForm":          postLeak("machines/", urlencoded, "power_pass: "+secretText+"\nx: 1"),
	"FormAsJSON":          postLeak("machines/", jsonKind, "power_pass="+secretText),
	"FormAsMultipart":     postLeak("machines/", "multipart/form-data; boundary=x", "power_pass="+secretText),
	"BrokenMultipart":     postLeak("machines/", "multipart/form-data; boundary=x", "--x\r\nContent-Disposition: form-data; name=\"power_pass\"\r\n\r\n"+secretText+"\r\n"),
	"NoBoundary":          postLeak("machines/", "multipart/form-data", "--x\r\nContent-Disposition: form-data; name=\"power_pass\"\r\n\r\n"+secretText+"\r\n--x--\r\n"),
	"BrokenBase64Part":    partLeak("name=\"power_pass\"\r\nContent-Transfer-Encoding: base64", "%%"+secretText),
	"NamelessPart":        partLeak("x=\"y\"", secretText),
	"FilePart":            partLeak("name=\"content\"; filename=\""+secretText+"\"", "#!/bin/sh\n# "+secretText),
	"PartInBase64":        partLeak("name=\"power_pass\"\r\nContent-Transfer-Encoding: base64", base64.StdEncoding.EncodeToString([]byte(secretText))),
	"EncodedBody":         {method: "POST", path: "machines/", kind: urlencoded, body: "power_pass=" + secretText, encoding: "br"},
	"DoubleQuery":         {method: "GET", path: "machines/?power_pass=a;b=" + secretText},
	"BrokenQuery":         {method: "GET", path: "machines/?power_pass=" + secretText + "%zz"},
	"NamelessQuery":       {method: "GET", path: "machines/?" + secretText},
	"Path":                {method: "GET", path: "users/" + secretText + "/"},
	"UnknownPath":         {method: "GET", path: "files/" + secretText + "/"},
	"UnknownOp":           {method: "GET", path: "machines/?op=" + secretText},
	"OtherAPI":            postLeak("../../accounts/login/", urlencoded, "username=joe&password="+secretText),
	"OtherAPIAnswer":      answerLeak("../../a/v3/auth/", jsonKind, `{"fine":"`+secretText+`"}`),
	"OtherAPIAnswerPlain": answerLeak("../../metadata/latest/", plainKind, secretText),
}

// secretFields are fields with a secret in some form.
var secretFields = map[string]leak{
	"Password":           fieldLeak("vm-hosts/", "password", secretText),
	"PowerPass":          fieldLeak("machines/", "power_pass", secretText),
	"PowerParameter":     fieldLeak("machines/", "power_parameters_power_pass", secretText),
	"AnotherPassword":    fieldLeak("machines/", "power_password2", secretText),
	"Passwords":          fieldLeak("machines/", "passwords", secretText),
	"CamelPassword":      fieldLeak("machines/", "userPassword", secretText),
	"Passwd":             fieldLeak("machines/", "root_passwd", secretText),
	"Pin":                fieldLeak("machines/", "bmc_pin", secretText),
	"Community":          fieldLeak("machines/", "snmp_community", secretText),
	"Auth":               fieldLeak("machines/", "power_auth", secretText),
	"Webhook":            fieldLeak("machines/", "webhook", secretText),
	"APIKey":             fieldLeak("vm-hosts/", "apiKey", secretText),
	"APIKeys":            fieldLeak("vm-hosts/", "api_keys", secretText),
	"UnknownField":       fieldLeak("machines/", "frobnicate", secretText),
	"UnknownNumber":      fieldLeak("machines/", "frobnicate", secretNumber),
	"RepositoryKey":      postLeak("package-repositories/", urlencoded, "key="+secretText+"&url=http://u:"+secretText+"@x/"),
	"Macaroons":          fieldLeak("machines/", "macaroons", `["a",{"i":"`+secretText+`"}]`),
	"Credentials":        fieldLeak("machines/", "credentials", `{"v":"`+secretText+`"}`),
	"SecretInJSONInJSON": fieldLeak("machines/", "power_parameters", `{"x":"{\"power_pass\":\"`+secretText+`\"}"}`),
	"CertificateNoPEM":   fieldLeak("vm-hosts/", "certificate", secretText),
	"CertificateBase64":  fieldLeak("vm-hosts/", "certificate", base64.StdEncoding.EncodeToString([]byte("0\x82"+secretText+secretText))),
	"KeyWithPEM":         fieldLeak("vm-hosts/", "key", secretText+"\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"),
	"KeyBehindPEM":       fieldLeak("vm-hosts/", "password", "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"+secretText),
	"UnfinishedPEM":      fieldLeak("machines/", "architecture", "-----BEGIN PRIVATE KEY-----\n"+secretText),
	"UserDataWithPEM":    fieldLeak("machines/a/?op=deploy", "user_data", "#cloud-config\npw: "+secretText+"\n-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"),
	"UserDataJSON":       fieldLeak("machines/a/?op=deploy", "user_data", `{"a":"`+secretText+`"}`),
	"PythonParameters":   fieldLeak("machines/", "power_parameters", "{'power_pass': '"+secretText+"'}"),
	"BrokenParameters":   fieldLeak("machines/", "power_parameters", `{"power_pass": "`+secretText),
	"ParametersText":     fieldLeak("machines/", "power_parameters", "power_pass="+secretText),
	"KernelOpts":         fieldLeak("tags/a/", "kernel_opts", "password="+secretText),
	"KernelOptsWords":    fieldLeak("tags/a/", "kernel_opts", "rd.luks "+secretText),
	"Description":        fieldLeak("machines/", "description", "the key is "+secretText),
	"OwnerData":          fieldLeak("machines/a/?op=set_owner_data", "who", secretText),
	"OwnerDataJSON":      fieldLeak("machines/a/?op=set_owner_data", "who", `{"mail":"`+secretText+`"}`),
	"OwnerDataKey":       fieldLeak("machines/a/?op=set_owner_data", secretText, "x"),
	"Annotation":         fieldLeak("machines/a/?op=set_workload_annotations", "password", secretText),
	"Proxy":              fieldLeak("maas/?op=set_config&name=http_proxy", "value", "http://joe:"+secretText+"@x@proxy:3128/"),
	"ProxySlash":         fieldLeak("maas/?op=set_config&name=http_proxy", "value", "http://joe:p/"+secretText+"@proxy:3128/"),
	"ProxySpace":         fieldLeak("maas/?op=set_config&name=http_proxy", "value", "http://joe:p "+secretText+" @proxy:3128/"),
	"ProxyQuote":         fieldLeak("maas/?op=set_config&name=http_proxy", "value", `http://joe:p"`+secretText+`@proxy:3128/`),
	"ProxyHash":          fieldLeak("maas/?op=set_config&name=http_proxy", "value", "http://joe:#?"+secretText+"@proxy:3128/"),
	"ProxyNoHost":        fieldLeak("maas/?op=set_config&name=http_proxy", "value", "http://joe:"+secretText),
	"ProxyInForm":        postLeak("maas/?op=set_config", urlencoded, "name=http_proxy&value=http%3A%2F%2Fjoe%3A"+secretText+"%40x@proxy:3128%2F"),
	"UnknownSetting":     postLeak("maas/?op=set_config", urlencoded, "name=frobnicate&value="+secretText),
	"SecretSetting":      postLeak("maas/?op=set_config", urlencoded, "name=rpc_shared_secret&value="+secretText),
	"SettingInJSON":      postLeak("maas/?op=set_config", jsonKind, `{"name":"rpc_shared_secret","value":"`+secretText+`"}`),
	"SettingTwice":       postLeak("maas/?op=set_config&name=omapi_key", urlencoded, "name=http_proxy&value="+secretText),
	"URLQuery":           fieldLeak("boot-sources/", "url", "https://mirror/x?sig="+secretText),
	"URLPath":            fieldLeak("boot-sources/", "url", "https://mirror/"+secretText+"/x"),
	"OtherScheme":        fieldLeak("machines/", "power_address", "qemu+ssh://joe:"+secretText+"@host/system"),
	"SSHKey":             fieldLeak("sshkeys/", "key", "ssh-ed25519 "+strings.Repeat("A", 30)+" "+secretText),
	"SNMP":               fieldLeak("settings/", "value", secretText),
	"Content":            fieldLeak("scripts/", "script", "#!/bin/sh\necho "+secretText),
	"Hostname":           fieldLeak("machines/", "hostname", "a/b:"+secretText),
	"Storage":            fieldLeak("machines/", "storage", secretText+":8("+secretText+")"),
	"Interfaces":         fieldLeak("machines/", "interfaces", secretText+":space="+secretText),
	"AgentName":          fieldLeak("machines/?op=allocate", "agent_name", secretText),
	"SecretInQuery":      {method: "GET", path: "machines/?power_pass=" + secretText},
	"ListOfSecrets":      postLeak("machines/", urlencoded, "password=a&password="+secretText),
	"JSONSecretNumber":   postLeak("machines/", jsonKind, `{"power_pass":`+secretNumber+`}`),
	"JSONOwnerData":      postLeak("machines/", jsonKind, `{"owner_data":{"a":{"b":["`+secretText+`"]}}}`),
	"JSONKey":            postLeak("machines/", jsonKind, `{"`+secretText+`":1}`),
}

// answers are MAAS's answers.
var answers = map[string]leak{
	"Truncated":        {method: "GET", path: "machines/a/?op=power_parameters", answerKind: jsonKind, answer: `{"power_pass":"` + secretText + `","k_g":"`, answerLength: 200},
	"TruncatedText":    {method: "GET", path: "version/", answerKind: plainKind, answer: "hello " + secretText, answerLength: 200},
	"TruncatedWhole":   {method: "GET", path: "machines/", answerKind: jsonKind, answer: `{"frob":"` + secretText + `"}`, answerLength: 900},
	"Number":           answerLeak("machines/a/?op=power_parameters", jsonKind, `{"power_pass":`+secretNumber+`}`),
	"Object":           answerLeak("machines/a/?op=power_parameters", jsonKind, `{"credentials":{"v":"`+secretText+`"}}`),
	"List":             answerLeak("machines/a/?op=power_parameters", jsonKind, `{"tokens":["`+secretText+`",["`+secretText+`"]]}`),
	"ObjectKey":        answerLeak("machines/a/?op=power_parameters", jsonKind, `{"credentials":{"`+secretText+`":1}}`),
	"NestedNumber":     answerLeak("machines/a/?op=power_parameters", jsonKind, `{"token":{"v":[`+secretNumber+`]}}`),
	"UnknownField":     answerLeak("machines/", jsonKind, `[{"frobnicate":"`+secretText+`"}]`),
	"UnknownNumber":    answerLeak("machines/", jsonKind, `[{"frobnicate":`+secretNumber+`}]`),
	"UnknownNested":    answerLeak("machines/", jsonKind, `[{"frobnicate":{"url":["`+secretText+`"]}}]`),
	"RootText":         answerLeak("machines/", jsonKind, `"`+secretText+`"`),
	"RootList":         answerLeak("machines/", jsonKind, `["`+secretText+`"]`),
	"KeyValue":         answerLeak("machines/", jsonKind, `[{"key":"power_pass","value":"`+secretText+`"}]`),
	"NameValue":        answerLeak("dhcp-snippets/", jsonKind, `[{"name":"x","value":"secret `+secretText+`"}]`),
	"JSONInText":       answerLeak("machines/", jsonKind, `[{"parameters":"{\"power_pass\": \"`+secretText+`\"}"}]`),
	"Signature":        refusalLeak(401, plainKind, "Authorization Error: 'Invalid signature. Expected signature base string: &"+secretText+"'"),
	"SignatureHTML":    refusalLeak(401, "text/html; charset=utf-8", "Authorization Error: &#x27;Invalid signature. Expected signature base string: &amp;"+secretText+"&#x27;"),
	"SignatureHMAC":    refusalLeak(401, plainKind, "Authorization Error: 'Invalid signature. Expected signature base string: GET&http%3A%2F%2Fx&oauth_token%3D"+secretText+"'"),
	"Token":            refusalLeak(401, plainKind, "Authorization Error: 'Invalid access token: "+secretText+"'"),
	"Details":          answerLeak("machines/a/?op=details", "application/bson", "bin "+secretText),
	"Octets":           answerLeak("machines/a/", "application/octet-stream", secretText),
	"NoKind":           answerLeak("machines/a/", "", secretText),
	"Curtin":           answerLeak("machines/a/?op=get_curtin_config", plainKind, "late_commands:\n  x: [wget, --header, 'oauth_token="+secretText+"']\n  password: "+secretText+"\n token_secret: "+secretText),
	"GetToken":         answerLeak("machines/a/?op=get_token", jsonKind, `{"a":"`+secretText+`"}`),
	"File":             answerLeak("files/?op=get", plainKind, "hello "+secretText),
	"Results":          answerLeak("nodes/a/results/", jsonKind, `[{"output":"`+secretText+`"}]`),
	"Script":           answerLeak("scripts/a/?op=download", plainKind, "#!/bin/sh\ncurl -u joe:"+secretText),
	"LongText":         answerLeak("machines/a/", plainKind, strings.Repeat("word ", 1000)+secretText),
	"LongRefusal":      refusalLeak(500, "text/html", "<html>"+strings.Repeat("word ", 1000)+"settings "+secretText),
	"NewToken":         {method: "POST", path: "account/?op=create_authorisation_token", answerKind: jsonKind, answer: `{"token_key":"` + secretText + `","token_secret":"` + secretText + `","consumer_key":"` + secretText + `","name":"n"}`},
	"Tokens":           answerLeak("account/?op=list_authorisation_tokens", jsonKind, `[{"name":"a","token":"a:b:`+secretText+`"}]`),
	"BrokenJSON":       answerLeak("machines/", jsonKind, `{"power_pass":"`+secretText+`"`),
	"JSONAndMore":      answerLeak("machines/", jsonKind, `{}"`+secretText+`"`),
	"PythonInText":     answerLeak("machines/", plainKind, `{'power_pass': '`+secretText+`'}`),
	"JSONAsText":       answerLeak("machines/", plainKind, `{"power_pass":"`+secretText+`"}`),
	"YAMLAsText":       refusalLeak(400, plainKind, "power_pass: |\n  "+secretText),
	"Assignment":       refusalLeak(400, plainKind, "cannot log in: password = "+secretText+" is wrong"),
	"QuotedAssignment": refusalLeak(400, plainKind, `{'x': 1}, power_pass='`+secretText+` x'`),
	"EscapedQuotes":    refusalLeak(400, plainKind, `cannot read \"k_g\": \"`+secretText+`\"`),
	"Option":           refusalLeak(400, plainKind, "ipmitool -U joe --password "+secretText+" failed"),
	"Bearer":           refusalLeak(400, plainKind, "sent Authorization: Bearer "+secretText),
	"BareBearer":       refusalLeak(400, plainKind, "sent bearer "+secretText),
	"RandomWord":       refusalLeak(400, plainKind, "cannot log in as joe with "+secretText+"."),
	"URLInText":        refusalLeak(400, plainKind, "cannot reach http://joe:"+secretText+"@proxy/x"),
	"EmptyPassword":    refusalLeak(400, plainKind, "cannot reach https://"+secretText+":@proxy/x"),
	"ErrorField":       refusalLeak(400, jsonKind, `{"power_pass":["`+secretText+` is wrong"]}`),
	"ErrorUnknown":     refusalLeak(400, jsonKind, `{"frobnicate":["'`+secretText+`' is wrong"]}`),
	"ErrorSetting":     refusalLeak(400, jsonKind, `{"error":"setting 'http_proxy' to 'http://joe:`+secretText+`@x'"}`),
	"AuditEvent":       answerLeak("events/?op=query", jsonKind, `{"events":[{"type":"Settings","description":"Updated configuration setting 'omapi_key' to '`+secretText+`'."}]}`),
	"ProxySetting":     answerLeak("maas/?op=get_config&name=http_proxy", jsonKind, `"http://joe:`+secretText+`@x@y/"`),
	"SecretSetting":    answerLeak("maas/?op=get_config&name=omapi_key", jsonKind, `"`+secretText+`"`),
	"NumberSetting":    answerLeak("maas/?op=get_config&name=omapi_key", jsonKind, secretNumber),
	"ObjectSetting":    answerLeak("maas/?op=get_config&name=omapi_key", jsonKind, `{"a":["`+secretText+`"]}`),
	"UnknownSetting":   answerLeak("maas/?op=get_config&name=frobnicate", jsonKind, `"`+secretText+`"`),
	"PlainSetting":     answerLeak("maas/?op=get_config&name=omapi_key", plainKind, secretText),
	"OwnerData":        answerLeak("machines/", jsonKind, `[{"owner_data":{"password":"`+secretText+`","a":{"b":"`+secretText+`"}}}]`),
	"UserDataEcho":     answerLeak("machines/", jsonKind, `[{"user_data":"`+secretText+`"}]`),
	"Gzip":             {method: "GET", path: "machines/", answerKind: jsonKind, answer: gzipText(`{"power_pass":"` + secretText + `"`), encoding: "gzip"},
	"GzipTruncated":    {method: "GET", path: "machines/", answerKind: jsonKind, answer: gzipText(`{"a":"` + secretText + `"}`)[:20], encoding: "gzip"},
	"Brotli":           {method: "GET", path: "machines/", answerKind: plainKind, answer: "x " + secretText, encoding: "br"},
	"EchoOfRequest":    {method: "POST", path: "machines/", kind: urlencoded, body: "power_pass=p-" + secretText, answerKind: plainKind, answer: "p-" + secretText + " is no password", status: 400},
	"EchoEscaped":      {method: "POST", path: "machines/", kind: urlencoded, body: "power_pass=" + url.QueryEscape("<"+secretText+"'"), answerKind: "text/html", answer: "&lt;" + secretText + "&#39; is no password", status: 400},
	"EchoInBase64":     {method: "POST", path: "machines/", kind: urlencoded, body: "power_pass=short", answerKind: plainKind, answer: "got " + base64.StdEncoding.EncodeToString([]byte("short")), status: 400},
	"EchoOfKey":        {method: "GET", path: "machines/", authorization: `OAuth oauth_consumer_key="c-` + secretText + `", oauth_token="a", oauth_signature="%26b"`, answerKind: plainKind, answer: "c-" + secretText + " is nobody", status: 401},
	"EchoOfBearer":     {method: "GET", path: "machines/", authorization: "Bearer " + secretText, answerKind: plainKind, answer: secretText + " is nobody", status: 401},
}

func gzipText(text string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	fmt.Fprint(z, text)
	_ = z.Close()
	return b.String()
}

// ambiguousCases are cases in which a secret that looks like a word cannot be
// distinguished from MAAS's own words or field names.
var ambiguousCases = []string{"Answers/RandomWord", "Answers/ErrorUnknown", "Fields/OwnerDataKey", "Fields/JSONKey", "Unread/UnknownOp"}

// withSecret is the exchange with another secret.
func (l leak) withSecret(secret string) leak {
	for _, text := range []*string{&l.path, &l.kind, &l.body, &l.answer, &l.authorization} {
		*text = strings.ReplaceAll(*text, secretText, secret)
	}
	return l
}

// TestNoSecretInARecording checks that no secret gets into a recording in any form. The recorder must
// leave out what it does not understand.
func TestNoSecretInARecording(t *testing.T) {
	t.Parallel()
	for group, cases := range map[string]map[string]leak{"Unread": unparsableBodies, "Fields": secretFields, "Answers": answers} {
		for name, l := range cases {
			t.Run(group+"/"+name, func(t *testing.T) {
				t.Parallel()
				checkNoSecret(t, l)
				if !slices.Contains(ambiguousCases, group+"/"+name) {
					checkNoSecret(t, l.withSecret(secretWord))
				}
			})
		}
	}
}

// checkNoSecret records an exchange and searches the recording for its secret.
func checkNoSecret(t *testing.T, l leak) {
	t.Helper()
	dir := l.record(t)
	for _, path := range filesIn(t, dir) {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, secret := range []string{secretText, secretNumber, secretWord, "c3VwM3JzM2NyZX", base64.StdEncoding.EncodeToString([]byte(secretText)), "c2hvcnQ="} {
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

// record sends the exchange through a recorder and returns the recorder's folder.
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
	r := newTestRequest(t, l.method, target.String(), l.kind, strings.NewReader(l.body))
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
