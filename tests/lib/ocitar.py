"""Image archives made by hand, honest or not: tars byte by byte."""
import gzip
import hashlib
import io
import json
import struct
import subprocess
import tarfile

T0 = 1700000000
OCI = "application/vnd.oci.image."


def header(name, size=0, kind=b"0", link=b"", mode=0o644, uid=0, gid=0,
           mtime=T0, magic=b"ustar\x0000", prefix=b"", major=0, minor=0):
    if isinstance(name, str):
        name = name.encode()
    if isinstance(link, str):
        link = link.encode()

    def octal(n, width):
        if n < 8 ** (width - 1):
            return b"%0*o\0" % (width - 1, n)
        return b"\x80" + n.to_bytes(width - 1, "big")

    h = bytearray(512)
    struct.pack_into("100s8s8s8s12s12s8sc100s8s32s32s8s8s155s", h, 0, name,
                     octal(mode, 8), octal(uid, 8), octal(gid, 8),
                     octal(size, 12), octal(mtime, 12), b" " * 8, kind, link,
                     magic, b"", b"", octal(major, 8), octal(minor, 8), prefix)
    h[148:156] = b"%06o\0 " % sum(h)
    return bytes(h)


def pad(data):
    return data + b"\0" * (-len(data) % 512)


def record(key, value):
    body = b" " + key + b"=" + value + b"\n"
    n = len(body)
    while n != len(body) + len(str(n)):
        n = len(body) + len(str(n))
    return str(n).encode() + body


def pax(records, entry):
    data = b"".join(record(k, v) for k, v in records)
    return header("pax", len(data), b"x") + pad(data) + entry


def file(name, data=b"x", **kw):
    return header(name, len(data), **kw) + pad(data)


def folder(name, mode=0o755, **kw):
    return header(name, 0, b"5", mode=mode, **kw)


def symlink(name, target, **kw):
    return header(name, 0, b"2", target, **kw)


def hardlink(name, target, **kw):
    return header(name, 0, b"1", target, **kw)


def longname(name, entry):
    if isinstance(name, str):
        name = name.encode()
    return header("././@LongLink", len(name) + 1, b"L") + pad(name + b"\0") + \
        entry


def tar(*entries):
    return b"".join(entries) + b"\0" * 1024


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


class Blobs(dict):
    def put(self, data, media=None, **more):
        d = digest(data)
        self["blobs/sha256/" + d[7:]] = data
        return {**({"mediaType": media} if media else {}), "digest": d,
                "size": len(data), **more}


def dumps(doc):
    return json.dumps(doc).encode()


def config(layers, more=None, arch="amd64", os="linux"):
    return {"architecture": arch, "os": os, "config": more or {},
            "rootfs": {"type": "layers",
                       "diff_ids": [digest(t) for t in layers]}}


def manifest(blobs, layers, more=None, pack=gzip.compress, change=None):
    """The manifest's descriptor; change(doc) may spoil the document."""
    doc = {"schemaVersion": 2, "mediaType": OCI + "manifest.v1+json",
           "config": blobs.put(dumps(config(layers, more)),
                               OCI + "config.v1+json"),
           "layers": [blobs.put(pack(t), OCI + "layer.v1.tar+gzip")
                      for t in layers]}
    if change:
        change(doc)
    return blobs.put(dumps(doc), OCI + "manifest.v1+json")


def index(entries):
    return dumps({"schemaVersion": 2, "mediaType": OCI + "index.v1+json",
                  "manifests": entries})


def layout(files, entries):
    """The files of an OCI layout, as a dict of names."""
    return {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}',
            "index.json": index(entries), **files}


def image(*layers, **kw):
    blobs = Blobs()
    return layout(blobs, [manifest(blobs, layers, **kw)])


def archive(files, prefix="", links=None):
    """A tar of these files, and of links (name -> target)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        for name, data in files.items():
            info = tarfile.TarInfo(prefix + name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
        for name, target in (links or {}).items():
            info = tarfile.TarInfo(prefix + name)
            info.type = tarfile.SYMTYPE
            info.linkname = target
            t.addfile(info)
    return out.getvalue()


def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data,
                          stdout=subprocess.PIPE, check=True).stdout
