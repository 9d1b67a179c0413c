"""A job template as people write them."""

POD = """
apiVersion: v1
kind: Pod
metadata: {name: vgg, labels: {team: vision}, annotations: {podshift.io/run-seconds: "30"}}
spec:
  nodeName: node-2
  containers:
  - {name: main, image: "vgg:1", resources: {requests: {cpu: "2", memory: 1Gi}}}
"""
