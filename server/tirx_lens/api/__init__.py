"""What each release of TVM offers kernels: names, parameters, PTX forms, dispatches."""
