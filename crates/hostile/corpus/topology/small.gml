Creator "someone"
graph [
  directed 0
  label "A network"
  # a comment
  node [ id 0 label "Z&#252;rich" Longitude 8.55 Latitude 47.37 ]
  node [ id 1 label "A" graphics [ x 10.0 y 20.0 ] ]
  node [ id 2 label "A" ]
  edge [ source 0 target 1 LinkLabel "2x10Gb/s" ]
  edge [ source 1 target 2 latency "5425 us" bandwidth 10000000 ]
]
