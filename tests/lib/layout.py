"""Honest images for tests: a folder as an OCI layout in a tar."""
import hashlib
import io
import json
import subprocess
import tarfile


def tar_of(folder):
    return subprocess.run(["tar", "-C", folder, "-cf", "-", "."],
                          capture_output=True, check=True).stdout


def of_folder(folder):
    return of_layer(tar_of(folder))


def of_layer(layer):
    """An OCI layout in a tar, of one plain layer."""
    blobs = {}

    def blob(data):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return f"sha256:{digest}"
    media = "application/vnd.oci.image."
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "config": {},
        "rootfs": {"type": "layers",
                   "diff_ids": [blob(layer)]}}).encode()
    manifest = json.dumps({
        "schemaVersion": 2, "mediaType": media + "manifest.v1+json",
        "config": {"mediaType": media + "config.v1+json",
                   "digest": blob(config), "size": len(config)},
        "layers": [{"mediaType": media + "layer.v1.tar",
                    "digest": blob(layer), "size": len(layer)}]}).encode()
    index = json.dumps({
        "schemaVersion": 2, "manifests": [{
            "mediaType": media + "manifest.v1+json",
            "digest": blob(manifest), "size": len(manifest)}]}).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as t:
        def add(name, data):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            t.addfile(info, io.BytesIO(data))
        add("oci-layout", b'{"imageLayoutVersion":"1.0.0"}')
        add("index.json", index)
        for digest, data in blobs.items():
            add(f"blobs/sha256/{digest}", data)
    return out.getvalue()
