// stage
