WARC/1.0
WARC-Type: warcinfo
WARC-Target-URI: x.wat
WARC-Date: 2024-05-31T01:17:49Z
Content-Type: application/warc-fields
Content-Length: 30

format: WARC File Format 1.0


WARC/1.0
WARC-Type: metadata
WARC-Target-URI: https://an.example.org/wiki/Page?x=1
WARC-Date: 2024-05-31T01:17:49Z
Content-Type: application/json
Content-Length: 438

{"Container": {"Filename": "x.warc.gz", "Offset": "1"}, "Envelope": {"Format": "WARC/1.0", "WARC-Header-Length": "1", "WARC-Header-Metadata": {"WARC-Type": "request", "WARC-Date": "2024-05-18T01:58:10Z", "WARC-Target-URI": "https://an.example.org/wiki/Page?x=1", "Content-Length": "1234"}, "Payload-Metadata": {"Actual-Content-Type": "application/http; msgtype=request", "HTTP-Request-Metadata": {"Headers": {"Host": "an.example.org"}}}}}

WARC/1.0
WARC-Type: metadata
WARC-Target-URI: https://an.example.org/wiki/Page?x=1
WARC-Date: 2024-05-31T01:17:49Z
Content-Type: application/json
Content-Length: 1045

{"Container": {"Filename": "x.warc.gz", "Offset": "1"}, "Envelope": {"Format": "WARC/1.0", "WARC-Header-Length": "1", "WARC-Header-Metadata": {"WARC-Type": "response", "WARC-Date": "2024-05-18T01:58:10Z", "WARC-Target-URI": "https://an.example.org/wiki/Page?x=1", "Content-Length": "1234", "WARC-Payload-Digest": "sha1:4RUZFQLEBLD46HZUN3VDGDW5FRMAHDDM"}, "Payload-Metadata": {"Actual-Content-Type": "application/http; msgtype=response", "HTTP-Response-Metadata": {"Response-Message": {"Version": "HTTP/1.1", "Status": "200", "Reason": "OK"}, "Headers": {"content-type": "text/html; charset=UTF-8", "Set-Cookie": ["a=1", "b=2"]}, "HTML-Metadata": {"Head": {"Base": "https://an.example.org/wiki/", "Title": "Page"}, "Links": [{"path": "A@/href", "url": "/other?a=1&b=2", "text": "x"}, {"path": "A@/href", "url": "Sub page"}, {"path": "A@/href", "url": "#top"}, {"path": "A@/href", "url": "mailto:a@b"}, {"path": "IMG@/src", "url": "//cdn.example/i.png"}, {"path": "A@/href", "url": "HTTP://B.example/%zz"}, {"path": "A@/href", "url": "/%zz"}]}}}}}

WARC/1.0
WARC-Type: metadata
WARC-Target-URI: http://old.example.org/
WARC-Date: 2024-05-31T01:17:49Z
Content-Type: application/json
Content-Length: 422

{"Container": {"Filename": "x.warc.gz", "Offset": "1"}, "Envelope": {"Format": "WARC/1.0", "WARC-Header-Length": "1", "WARC-Header-Metadata": {"WARC-Type": "response", "WARC-Date": "2024-05-18T01:58:10Z", "WARC-Target-URI": "http://old.example.org/", "Content-Length": "1234"}, "Payload-Metadata": {"HTTP-Response-Metadata": {"Response-Message": {"Status": "301"}, "Headers": {"Location": ["https://new.example.org/"]}}}}}

WARC/1.0
WARC-Type: metadata
WARC-Target-URI: http://old.example.org/
WARC-Date: 2024-05-31T01:17:49Z
Content-Type: application/json
Content-Length: 17

{"Envelope": [1]}

